namespace HibpIngest.Passwords.Import.Drops;

internal sealed class SortedPiece(DropReader text, HashMode mode, int group, long begin, long end)
{
    // One block is read while another is processed.
    private const int ReadBytes = 4 << 20;

    private const int RowsAtOnce = 8_192;

    // 500 times the size of a range in a release of 2,000 million hashes: about 100 MB with its text.
    private const int MaxRows = 1 << 20;

    private readonly HashLines _lines = new(mode, text.Name, 0);
    private HashCount[] _range = new HashCount[4_096];
    private int _rows;

    /// <summary>Returns a message about a position in a file, without the line itself: it may be a password.</summary>
    public static string Describe(string file, long at, string problem) =>
        $"'{file}', at byte {at}: {problem}; fix the file, or import it with 'hibp passwords import', which sorts it, and drop it again or "
        + "delete it";

    /// <summary>Passes on ranges in order, with distinct hashes and counts above 0, valid until <paramref name="each"/> returns.</summary>
    public async Task ReadAsync(
        Func<int, ReadOnlyMemory<HashCount>, CancellationToken, ValueTask> each, CancellationToken cancellationToken)
    {
        var rows = new HashCount[RowsAtOnce];
        var (at, left) = (begin, ReadOnlyMemory<byte>.Empty);
        var reading = ReadAsync(begin, cancellationToken);
        try
        {
            for (var next = begin; next < end;)
            {
                var read = await reading;
                next += read.Length;
                reading = ReadAsync(next, cancellationToken);
                // Prepend the unfinished line of the previous block, usually a few bytes.
                var bytes = new byte[left.Length + read.Length];
                left.CopyTo(bytes);
                read.CopyTo(bytes.AsMemory(left.Length));
                left = bytes;
                while (true)
                {
                    var (count, done) = ReadLines(left.Span, at, isEnd: next == end, rows);
                    for (var row = 0; row < count; row++)
                    {
                        if (!Add(rows[row], out var isWhole))
                            throw new BadInputException(Describe(text.Name, PlaceOf(left.Span, at, isEnd: next == end, row), OutOfOrder()));
                        if (!isWhole)
                            continue;
                        await each(_range[0].Prefix, _range.AsMemory(0, _rows), cancellationToken);
                        (_range[0], _rows) = (rows[row], 1);
                    }
                    left = left[done..];
                    at += done;
                    if (count < rows.Length)
                        break;
                }
            }
        }
        finally
        {
            await ((Task)reading).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }
        if (_rows > 0)
            await each(_range[0].Prefix, _range.AsMemory(0, _rows), cancellationToken);
    }

    private Task<ReadOnlyMemory<byte>> ReadAsync(long at, CancellationToken cancellationToken) =>
        text.ReadAsync(at, (int)Math.Min(ReadBytes, end - at), cancellationToken);

    private (int Rows, int Bytes) ReadLines(ReadOnlySpan<byte> bytes, long at, bool isEnd, Span<HashCount> rows)
    {
        try
        {
            return _lines.Read(bytes, isEnd, rows);
        }
        catch (BadInputException)
        {
            throw new BadInputException(Describe(text.Name, at + _lines.BadAt, _lines.Wrong));
        }
    }

    /// <summary>Adds a row to the current range, unless it begins the next one; returns false if it is out of order.</summary>
    private bool Add(in HashCount row, out bool isWhole)
    {
        isWhole = false;
        if (row.Prefix / PasswordNames.RangesOfGroup != group)
            return false;
        if (_rows > 0)
        {
            ref var last = ref _range[_rows - 1];
            if (last.IsSameHash(row))
            {
                last = last.Plus(row);
                return true;
            }
            if (!last.IsBefore(row))
                return false;
            isWhole = last.Prefix != row.Prefix;
            if (isWhole)
                return true;
        }
        if (_rows == MaxRows)
        {
            throw new BadInputException($"'{text.Name}': expected at most {MaxRows:N0} different hashes in range "
                + $"{HashModes.PrefixText(row.Prefix)}, found more; import the file with 'hibp passwords import', then delete the dropped "
                + "one");
        }
        if (_rows == _range.Length)
            Array.Resize(ref _range, 2 * _rows);
        _range[_rows++] = row;
        return true;
    }

    private string OutOfOrder() => $"expected sorted lines, found one that belongs elsewhere (looking for those of {group:X2})";

    /// <summary>Returns where a row's line begins, or empty lines before it.</summary>
    private long PlaceOf(ReadOnlySpan<byte> bytes, long at, bool isEnd, int row)
    {
        var lines = new HashLines(mode, text.Name, 0);
        Span<HashCount> one = stackalloc HashCount[1];
        while (true)
        {
            var (count, done) = lines.Read(bytes, isEnd, one);
            if (count == 0 || row-- == 0)
                return at;
            at += done;
            bytes = bytes[done..];
        }
    }
}
