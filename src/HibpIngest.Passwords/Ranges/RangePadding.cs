using System.Security.Cryptography;

namespace HibpIngest.Passwords.Ranges;

/// <summary>
/// Padding rows that follow those of a range, so that the length of a response doesn't reveal the range: 10 to 209 random rows with the
/// count 0, as Have I Been Pwned's worker adds them. Clients ignore rows with the count 0.
/// </summary>
public static class RangePadding
{
    private const int Fewest = 10;
    private const int Most = 209;

    private const int LineEndAndCountBytes = 4;

    /// <summary>Makes padding rows, each preceded by a line end.</summary>
    public static byte[] Make(HashMode mode)
    {
        var digits = mode.SuffixDigits();
        var rows = RandomNumberGenerator.GetInt32(Fewest, Most + 1);
        var text = new byte[rows * (digits + LineEndAndCountBytes)];
        Span<byte> random = stackalloc byte[mode.Bytes()];
        Span<byte> hash = stackalloc byte[mode.Digits()];
        var at = text.AsSpan();
        for (var i = 0; i < rows; i++)
        {
            RandomNumberGenerator.Fill(random);
            Convert.TryToHexString(random, hash, out _);
            "\r\n"u8.CopyTo(at);
            hash[..digits].CopyTo(at[2..]);
            ":0"u8.CopyTo(at[(2 + digits)..]);
            at = at[(digits + LineEndAndCountBytes)..];
        }
        return text;
    }
}
