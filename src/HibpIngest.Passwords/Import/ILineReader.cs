namespace HibpIngest.Passwords;

/// <summary>Turns the lines of one text into hashes. It counts the lines, so it is one text's alone.</summary>
internal interface ILineReader
{
    /// <summary>Lines read so far, empty ones among them.</summary>
    long Lines { get; }

    /// <summary>Hashes of a line: one for each mode, in the order of the modes.</summary>
    int RowsOfLine { get; }

    /// <summary>Rows that were left out because their count is 0.</summary>
    long ZeroRows { get; }

    /// <summary>Reads lines until the text or the rows' room ends.</summary>
    /// <param name="text">Where the last call left off.</param>
    /// <param name="isEnd">The text ends with it, so that its last line needs no end.</param>
    /// <param name="rows">Receives the hashes; room for at least <see cref="RowsOfLine"/>.</param>
    /// <returns>Hashes, and bytes of the text that are done with; the rest is the beginning of a line, unless the rows
    /// are full.</returns>
    /// <exception cref="HibpIngest.Errors.BadInputException">A line is not as it should be.</exception>
    (int Rows, int Bytes) Read(ReadOnlySpan<byte> text, bool isEnd, Span<HashCount> rows);
}
