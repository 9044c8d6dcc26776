using System.Text.Json.Serialization;

namespace HibpIngest.Passwords.Releases;

/// <summary>The form in which a release is stored (docs/passwords.md).</summary>
public enum PasswordBackend
{
    /// <summary>A table with one entity per hash.</summary>
    [JsonStringEnumMemberName("table")]
    Table = 0,

    /// <summary>One blob per range, gzipped, as it is sent.</summary>
    [JsonStringEnumMemberName("blob")]
    Blob = 1,

    /// <summary>256 blobs, each with the ranges that share its first two digits, and an index.</summary>
    [JsonStringEnumMemberName("pack")]
    Pack = 2,
}
