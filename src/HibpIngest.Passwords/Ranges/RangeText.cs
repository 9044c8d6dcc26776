using System.Buffers;
using System.Buffers.Text;

namespace HibpIngest.Passwords.Ranges;

/// <summary>A range as it is sent: rows <c>SUFFIX:COUNT</c> in order, with CRLF between them but not at the end (clients fail).</summary>
internal static class RangeText
{
    // CRLF, a colon, and the digits of the largest count.
    private const int MaxAfterSuffix = 2 + 1 + 19;

    private static readonly byte[][] Empty = [.. HashModes.All.Select(MakeEmpty)];

    public static int MaxBytes(HashMode mode, int rows) => rows * (mode.SuffixDigits() + MaxAfterSuffix);

    /// <summary>Returns the text of a range without hashes: a row of zeros, as one client fails on an empty body.</summary>
    public static ReadOnlyMemory<byte> OfNothing(HashMode mode) => Empty[(int)mode];

    /// <param name="text">Room for <see cref="MaxBytes"/>.</param>
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
                throw InvalidText();
            line[..suffix].CopyTo(digits[HashModes.PrefixDigits..]);
            if (Convert.FromHexString(digits, hash, out _, out _) != OperationStatus.Done)
                throw InvalidText();
            rows.Add(new HashCount(hash, count));
        }
    }

    public static byte[] Of(HashMode mode, IReadOnlyList<PasswordRow> rows)
    {
        var text = new byte[MaxBytes(mode, rows.Count)];
        var at = 0;
        foreach (var row in rows)
        {
            if (row.Suffix.Length != mode.SuffixDigits())
                throw InvalidText();
            if (at > 0)
                at = WriteLineEnd(text, at);
            at += Encoding.ASCII.GetBytes(row.Suffix, text.AsSpan(at));
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

    private static StoreMismatchException InvalidText() =>
        new("a range of passwords can't be read: it is damaged or was written by another program");
}
