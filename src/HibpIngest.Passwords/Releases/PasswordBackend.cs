using System.Text.Json.Serialization;

namespace HibpIngest.Passwords;

/// <summary>In which form a release is kept (docs/passwords.md).</summary>
public enum PasswordBackend
{
    /// <summary>A table: an entity a hash.</summary>
    [JsonStringEnumMemberName("table")]
    Table = 0,

    /// <summary>A blob a range, gzipped, as it is sent.</summary>
    [JsonStringEnumMemberName("blob")]
    Blob = 1,

    /// <summary>256 blobs, each with the ranges that begin with its two digits, and an index.</summary>
    [JsonStringEnumMemberName("pack")]
    Pack = 2,
}
