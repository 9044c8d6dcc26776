using System.Security.Cryptography;

namespace HibpIngest.Passwords;

/// <summary>
/// Rows that say nothing, behind those of a range, so that its length doesn't tell which range was asked for: 10 to 209 with the
/// count 0, other ones each time, as Have I Been Pwned's worker adds them. Clients leave out what was seen 0 times.
/// </summary>
public static class RangePadding
{
    private const int Fewest = 10;
    private const int Most = 209;

    private const int LineEndAndCountBytes = 4;

    /// <summary>Such rows, each with the line end before it.</summary>
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
