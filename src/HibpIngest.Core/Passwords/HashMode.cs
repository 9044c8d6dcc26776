using System.Text.Json.Serialization;

namespace HibpIngest.Passwords;

public enum HashMode
{
    /// <summary>SHA-1 of the password in UTF-8: 20 bytes.</summary>
    [JsonStringEnumMemberName("sha1")]
    Sha1 = 0,

    /// <summary>MD4 of the password in UTF-16, little-endian, as Windows keeps it: 16 bytes.</summary>
    [JsonStringEnumMemberName("ntlm")]
    Ntlm = 1,
}

public static class HashModes
{
    /// <summary>Digits of a hash that a range is asked for by.</summary>
    public const int PrefixDigits = 5;

    /// <summary>Ranges of a mode: every number of five hex digits.</summary>
    public const int Ranges = 1 << (4 * PrefixDigits);

    public static readonly IReadOnlyList<HashMode> All = [HashMode.Sha1, HashMode.Ntlm];

    public static int Bytes(this HashMode mode) => mode == HashMode.Sha1 ? 20 : 16;

    public static int Digits(this HashMode mode) => 2 * mode.Bytes();

    /// <summary>Hex digits of a hash behind its prefix: what a row of a range begins with.</summary>
    public static int SuffixDigits(this HashMode mode) => mode.Digits() - PrefixDigits;

    /// <summary>As it is written in queries and in names of blobs: <c>sha1</c>, <c>ntlm</c>.</summary>
    public static string Name(this HashMode mode) => mode == HashMode.Sha1 ? "sha1" : "ntlm";

    /// <summary>Five upper-case hex digits.</summary>
    public static string PrefixText(int prefix) => prefix.ToString("X5", System.Globalization.CultureInfo.InvariantCulture);
}
