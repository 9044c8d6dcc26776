namespace HibpIngest.Passwords.Import;

/// <summary>
/// Lines of one password each, in UTF-8, hashed for both modes with a count of 1. Lines end with LF or CRLF; empty lines and a byte order
/// mark at the beginning of the text are skipped.
/// </summary>
/// <param name="lines">The number of lines of the text that were read before.</param>
internal sealed class PasswordLines(string name, long lines) : ILineReader
{
    /// <summary>The maximum length of a password in bytes: far above any real one, so that a binary file is noticed.</summary>
    public const int LongestLine = 1 << 16;

    private readonly PasswordHasher _hasher = new();
    private readonly byte[] _hash = new byte[20];

    public long Lines { get; private set; } = lines;

    public int RowsOfLine => 2;

    public long ZeroRows => 0;

    public (int Rows, int Bytes) Read(ReadOnlySpan<byte> text, bool isEnd, Span<HashCount> rows)
    {
        var (count, at) = (0, 0);
        while (count + RowsOfLine <= rows.Length && at < text.Length)
        {
            if (LineEnds.Find(text[at..], isEnd, crEnds: false) is not { } found)
            {
                if (text.Length - at > LongestLine)
                    throw TooLong();
                break;
            }
            var line = text.Slice(at, found.Bytes);
            if (line.Length > LongestLine)
                throw TooLong();
            if (Lines == 0 && line.StartsWith(LineEnds.ByteOrderMark))
                line = line[LineEnds.ByteOrderMark.Length..];
            if (!line.IsEmpty)
            {
                foreach (var mode in HashModes.All)
                {
                    var hash = _hash.AsSpan(0, mode.Bytes());
                    _hasher.Hash(mode, line, hash);
                    rows[count++] = new HashCount(hash, 1);
                }
            }
            Lines++;
            at += found.WithEnd;
        }
        return (count, at);
    }

    private BadInputException TooLong() => new(
        $"'{name}', line {Lines + 1}: expected a password of at most {LongestLine:N0} bytes, found more; is it a list of one "
        + "password a line? Mend or remove the line and import again");
}
