namespace HibpIngest.Passwords.Import;

/// <summary>Parses the lines of one text into hashes. It counts lines, so an instance reads one text only.</summary>
internal interface ILineReader
{
    /// <summary>Lines read so far, including empty ones.</summary>
    long Lines { get; }

    /// <summary>Hashes per line, in the order of the modes.</summary>
    int RowsOfLine { get; }

    /// <summary>Rows skipped because their count is 0.</summary>
    long ZeroRows { get; }

    /// <param name="text">Begins where the last call left off.</param>
    /// <param name="isEnd">True if the text ends with it, so that its last line needs no line end.</param>
    /// <param name="rows">Room for at least <see cref="RowsOfLine"/>.</param>
    /// <returns>The number of hashes, and of bytes consumed. The rest is an unfinished line, unless the rows are full.</returns>
    (int Rows, int Bytes) Read(ReadOnlySpan<byte> text, bool isEnd, Span<HashCount> rows);
}

internal static class LineEnds
{
    /// <summary>U+FEFF. One downloader writes it before every range, so it also occurs before lines in the middle of a text.</summary>
    public static ReadOnlySpan<byte> ByteOrderMark => [0xEF, 0xBB, 0xBF];

    /// <summary>Finds the first line. A CR at the end of <paramref name="text"/> may be half of a CRLF: the line is incomplete.</summary>
    /// <param name="crEnds">True if a CR without LF ends a line too.</param>
    /// <returns>The length of the line without and with its end; null if the line is incomplete.</returns>
    public static (int Bytes, int WithEnd)? Find(ReadOnlySpan<byte> text, bool isEnd, bool crEnds)
    {
        var end = crEnds ? text.IndexOfAny((byte)'\n', (byte)'\r') : text.IndexOf((byte)'\n');
        if (end < 0)
            return isEnd && !text.IsEmpty ? (text.Length, text.Length) : null;
        if (text[end] == '\n')
            return (!crEnds && end > 0 && text[end - 1] == '\r' ? end - 1 : end, end + 1);
        if (end + 1 < text.Length)
            return (end, text[end + 1] == '\n' ? end + 2 : end + 1);
        return isEnd ? (end, end + 1) : null;
    }
}
