using System.Text.Json.Serialization;

namespace HibpIngest.Passwords;

public enum HashMode
{
    /// <summary>SHA-1 of the password in UTF-8: 20 bytes.</summary>
    [JsonStringEnumMemberName("sha1")]
    Sha1 = 0,

    /// <summary>MD4 of the password in UTF-16 little-endian, as Windows stores it: 16 bytes.</summary>
    [JsonStringEnumMemberName("ntlm")]
    Ntlm = 1,
}

public static class HashModes
{
    public const int PrefixDigits = 5;

    /// <summary>Number of ranges per mode: one for each value of five hex digits.</summary>
    public const int Ranges = 1 << (4 * PrefixDigits);

    public static readonly IReadOnlyList<HashMode> All = [HashMode.Sha1, HashMode.Ntlm];

    public static int Bytes(this HashMode mode) => mode == HashMode.Sha1 ? 20 : 16;

    public static int Digits(this HashMode mode) => 2 * mode.Bytes();

    /// <summary>Returns the number of hex digits after the prefix; each row of a range starts with them.</summary>
    public static int SuffixDigits(this HashMode mode) => mode.Digits() - PrefixDigits;

    /// <summary>Returns the name used in queries and blob names: <c>sha1</c> or <c>ntlm</c>.</summary>
    public static string Name(this HashMode mode) => mode == HashMode.Sha1 ? "sha1" : "ntlm";

    public static string PrefixText(int prefix) => prefix.ToString("X5", System.Globalization.CultureInfo.InvariantCulture);
}
