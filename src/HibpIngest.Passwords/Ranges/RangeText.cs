using System.Buffers.Text;

namespace HibpIngest.Passwords.Ranges;

/// <summary>
/// A range as it is sent: rows <c>SUFFIX:COUNT</c> in order, separated by CRLF with none at the end (otherwise two clients miss a hit, and
/// one fails).
/// </summary>
public static class RangeText
{
    // CRLF, a colon, and the digits of the largest count.
    private const int LongestAfterSuffix = 2 + 1 + 19;

    private static readonly byte[][] Empty = [.. HashModes.All.Select(MakeEmpty)];

    /// <summary>Returns the maximum size of this many rows in bytes.</summary>
    public static int MaxBytes(HashMode mode, int rows) => rows * (mode.SuffixDigits() + LongestAfterSuffix);

    /// <summary>Returns the text of a range without hashes: a row of zeros, as one client fails on an empty body.</summary>
    public static ReadOnlyMemory<byte> OfNothing(HashMode mode) => Empty[(int)mode];

    /// <param name="rows">In order.</param>
    /// <param name="text">Has room for <see cref="MaxBytes"/>.</param>
    /// <returns>The number of bytes written.</returns>
    public static int Write(HashMode mode, ReadOnlySpan<HashCount> rows, Span<byte> text)
    {
        Span<byte> hash = stackalloc byte[mode.Bytes()];
        Span<byte> digits = stackalloc byte[mode.Digits()];
        var at = 0;
        for (var i = 0; i < rows.Length; i++)
        {
            if (i > 0)
                at = WriteLineEnd(text, at);
            rows[i].WriteHash(hash);
            Convert.TryToHexString(hash, digits, out _);
            digits[HashModes.PrefixDigits..].CopyTo(text[at..]);
            at += mode.SuffixDigits();
            at = WriteCount(text, at, rows[i].Count);
        }
        return at;
    }

    /// <param name="text">As <see cref="Write"/> writes it.</param>
    /// <exception cref="StoreMismatchException">The text has another format.</exception>
    public static void Read(HashMode mode, int prefix, ReadOnlySpan<byte> text, List<HashCount> rows)
    {
        Span<byte> digits = stackalloc byte[mode.Digits()];
        Span<byte> hash = stackalloc byte[mode.Bytes()];
        Utf8Formatter.TryFormat(prefix, digits, out _, new('X', HashModes.PrefixDigits));
        while (!text.IsEmpty)
        {
            var end = text.IndexOf("\r\n"u8);
            var line = end < 0 ? text : text[..end];
            text = end < 0 ? default : text[(end + 2)..];
            var suffix = mode.SuffixDigits();
            if (line.Length < suffix + 2 || line[suffix] != (byte)':'
                || !Utf8Parser.TryParse(line[(suffix + 1)..], out long count, out var read) || read != line.Length - suffix - 1)
                throw NoRange();
            line[..suffix].CopyTo(digits[HashModes.PrefixDigits..]);
            if (Convert.FromHexString(digits, hash, out _, out _) != System.Buffers.OperationStatus.Done)
                throw NoRange();
            rows.Add(new HashCount(hash, count));
        }
    }

    /// <summary>Formats a table's rows, which are in order, as text.</summary>
    internal static byte[] Of(HashMode mode, IReadOnlyList<Stores.PasswordRow> rows)
    {
        var text = new byte[MaxBytes(mode, rows.Count)];
        var at = 0;
        foreach (var row in rows)
        {
            if (row.Suffix.Length != mode.SuffixDigits())
                throw NoRange();
            if (at > 0)
                at = WriteLineEnd(text, at);
            at += System.Text.Encoding.ASCII.GetBytes(row.Suffix, text.AsSpan(at));
            at = WriteCount(text, at, row.Count);
        }
        return text[..at];
    }

    private static int WriteLineEnd(Span<byte> text, int at)
    {
        (text[at], text[at + 1]) = ((byte)'\r', (byte)'\n');
        return at + 2;
    }

    private static int WriteCount(Span<byte> text, int at, long count)
    {
        text[at++] = (byte)':';
        Utf8Formatter.TryFormat(count, text[at..], out var written);
        return at + written;
    }

    private static byte[] MakeEmpty(HashMode mode) => [.. Enumerable.Repeat((byte)'0', mode.SuffixDigits()), .. ":0"u8];

    private static StoreMismatchException NoRange() => new("a range of passwords can't be read: it was written by something else");
}
