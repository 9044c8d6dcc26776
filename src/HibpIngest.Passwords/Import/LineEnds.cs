namespace HibpIngest.Passwords;

/// <summary>Where a line ends, and what is left of it without what isn't its own.</summary>
internal static class LineEnds
{
    /// <summary>
    /// U+FEFF. One downloader writes it before every range, so that it stands before lines in the middle too.
    /// </summary>
    public static ReadOnlySpan<byte> ByteOrderMark => [0xEF, 0xBB, 0xBF];

    /// <summary>
    /// Finds the line that a text begins with. A CR at the text's very end may be half of a line end: such a line
    /// isn't whole until more is known.
    /// </summary>
    /// <param name="crEnds">Whether a CR without LF ends a line too.</param>
    /// <returns>Bytes of the line, and with its end; null where it isn't whole.</returns>
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
