using HibpIngest.Passwords.Ranges;
using Org.BouncyCastle.Security;

namespace HibpIngest.Tests.Passwords;

internal static class HashText
{
    /// <summary>Formats a row as a line of a list.</summary>
    public static string Of(HashCount row, HashMode mode)
    {
        var hash = new byte[mode.Bytes()];
        row.WriteHash(hash);
        return $"{Convert.ToHexString(hash)}:{row.Count}";
    }

    public static string Sha1(string password) => Convert.ToHexString(SHA1.HashData(Encoding.UTF8.GetBytes(password)));

    public static string Ntlm(string password) =>
        Convert.ToHexString(DigestUtilities.CalculateDigest("MD4", Encoding.Unicode.GetBytes(password)));
}
