using System.Buffers;

namespace HibpIngest.Passwords.Import;

/// <summary>
/// Lines of <c>HASH:COUNT</c>: 40 hex digits for SHA-1 or 32 for NTLM, in either case, and a whole number. Lines end with LF, CRLF or CR.
/// Empty lines, trailing blanks and a byte order mark before any line are skipped.
/// </summary>
internal sealed class HashLines(HashMode mode, string name, long lines) : ILineReader
{
    /// <summary>The longest plausible line has 60 bytes, including the mark and the line end.</summary>
    public const int MaxLineBytes = 1024;

    // A number of this many digits can't overflow.
    private const int SafeDigits = 18;

    private static readonly SearchValues<byte> HexDigits = SearchValues.Create("0123456789ABCDEFabcdef"u8);

    private readonly int _digits = mode.Digits();

    public long Lines { get; private set; } = lines;

    public int RowsOfLine => 1;

    public long ZeroRows { get; private set; }

    /// <summary>Offset of the malformed line within the text of the last call.</summary>
    public int BadAt { get; private set; }

    public string Wrong { get; private set; } = "";

    public (int Rows, int Bytes) Read(ReadOnlySpan<byte> text, bool isEnd, Span<HashCount> rows)
    {
        Span<byte> hash = stackalloc byte[20];
        hash = hash[..(_digits / 2)];
        // The fast path reads this many bytes without a bounds check: hash, colon, digits, and two bytes of line end.
        var quick = _digits + 1 + SafeDigits + 2;
        var (count, at, lines, zeros) = (0, 0, Lines, 0);
        while (count < rows.Length && at < text.Length)
        {
            if (text.Length - at >= quick && TryReadUsual(text.Slice(at, quick), hash, out var seen, out var length))
            {
                lines++;
                at += length;
                if (seen == 0)
                    zeros++;
                else
                    rows[count++] = new HashCount(hash, seen);
                continue;
            }
            (Lines, BadAt) = (lines, at);
            if (LineEnds.Find(text[at..], isEnd, crEnds: true) is not { } line)
            {
                if (text.Length - at > MaxLineBytes)
                    throw Bad($"found a line of more than {MaxLineBytes:N0} bytes");
                break;
            }
            if (TryReadAny(text.Slice(at, line.Bytes), hash, out seen))
            {
                if (seen == 0)
                    zeros++;
                else
                    rows[count++] = new HashCount(hash, seen);
            }
            lines++;
            at += line.WithEnd;
        }
        Lines = lines;
        ZeroRows += zeros;
        return (count, at);
    }

    /// <summary>Reads a line of the usual form without searching for its end: hash and count determine where it is.</summary>
    private bool TryReadUsual(ReadOnlySpan<byte> text, Span<byte> hash, out long count, out int length)
    {
        count = 0;
        length = 0;
        if (text[_digits] != ':' || Convert.FromHexString(text[.._digits], hash, out _, out _) != OperationStatus.Done)
            return false;
        var first = _digits + 1;
        var at = first;
        uint digit;
        while (at < first + SafeDigits && (digit = (uint)(text[at] - '0')) <= 9)
        {
            count = (count * 10) + digit;
            at++;
        }
        if (at == first)
            return false;
        if (text[at] == '\n')
        {
            length = at + 1;
            return true;
        }
        length = at + 2;
        return text[at] == '\r' && text[at + 1] == '\n';
    }

    /// <returns>False if the line is empty.</returns>
    private bool TryReadAny(ReadOnlySpan<byte> line, Span<byte> hash, out long count)
    {
        count = 0;
        if (line.StartsWith(LineEnds.ByteOrderMark))
            line = line[LineEnds.ByteOrderMark.Length..];
        line = line.TrimEnd(" \t"u8);
        if (line.IsEmpty)
            return false;
        var colon = line.IndexOf((byte)':');
        if (colon < 0)
            throw Bad("found no colon");
        if (line[..colon].IndexOfAnyExcept(HexDigits) is >= 0 and var other)
            throw Bad($"found a character that is no hex digit in column {other + 1}");
        if (colon != _digits)
            throw Bad($"found {colon} digits before the colon{OtherMode(colon)}");
        Convert.FromHexString(line[..colon], hash, out _, out _);
        var number = line[(colon + 1)..];
        if (number.IsEmpty || number.ContainsAnyExceptInRange((byte)'0', (byte)'9'))
            throw Bad("found a count that isn't made of digits alone");
        if (!long.TryParse(number, NumberStyles.None, CultureInfo.InvariantCulture, out count))
            throw Bad($"found a count above {long.MaxValue}");
        return true;
    }

    private static string OtherMode(int digits) =>
        string.Concat(HashModes.All.Where(other => other.Digits() == digits).Take(1).Select(other => $", as mode {other.Name()} has"));

    // Never quote the line: a supposed list of hashes may be a list of passwords.
    private BadInputException Bad(string found)
    {
        Wrong = $"expected HASH:COUNT with the {_digits} hex digits of mode {mode.Name()} and a count from 0 to {long.MaxValue}, {found}";
        return new BadInputException(
            $"'{name}', line {Lines + 1}: {Wrong}; fix or remove the line, or name the right mode, and import again");
    }
}
