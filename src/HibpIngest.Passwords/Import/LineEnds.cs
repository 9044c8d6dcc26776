namespace HibpIngest.Passwords.Import;

internal static class LineEnds
{
    /// <summary>U+FEFF. One downloader writes it before every range, so it also occurs before lines in the middle of a text.</summary>
    public static ReadOnlySpan<byte> ByteOrderMark => [0xEF, 0xBB, 0xBF];

    /// <summary>
    /// Finds the first line of a text. A CR at the end of <paramref name="text"/> may be half of a CRLF: such a line is incomplete until
    /// more is read.
    /// </summary>
    /// <param name="crEnds">Whether a CR without LF ends a line too.</param>
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
