namespace HibpIngest.Passwords.Import;

/// <summary>Parses the lines of one text into hashes. It counts lines, so an instance reads one text only.</summary>
internal interface ILineReader
{
    /// <summary>Lines read so far, including empty ones.</summary>
    long Lines { get; }

    /// <summary>Hashes per line: one for each mode, in the order of the modes.</summary>
    int RowsOfLine { get; }

    /// <summary>Rows that were skipped because their count is 0.</summary>
    long ZeroRows { get; }

    /// <summary>Reads lines until the text or the room for rows ends.</summary>
    /// <param name="text">Begins where the last call left off.</param>
    /// <param name="isEnd">Whether the text ends with it, so that its last line needs no line end.</param>
    /// <param name="rows">Receives the hashes; room for at least <see cref="RowsOfLine"/>.</param>
    /// <returns>The number of hashes, and of bytes consumed. The rest is an unfinished line, unless the rows are full.</returns>
    /// <exception cref="HibpIngest.Errors.BadInputException">A line is malformed.</exception>
    (int Rows, int Bytes) Read(ReadOnlySpan<byte> text, bool isEnd, Span<HashCount> rows);
}
