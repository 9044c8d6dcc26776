namespace HibpIngest.Pipeline.Mail;

internal static class MailText
{
    // Turns each run of white space and control characters into a space, and removes marks that change the writing direction.
    public static string OneLine(string text)
    {
        var line = new StringBuilder(text.Length);
        foreach (var rune in text.EnumerateRunes())
        {
            if (rune.Value is >= 0x202A and <= 0x202E or >= 0x2066 and <= 0x2069)
                continue;
            if (Rune.IsWhiteSpace(rune) || Rune.IsControl(rune))
            {
                if (line.Length > 0 && line[^1] != ' ')
                    line.Append(' ');
            }
            else
            {
                line.Append(rune);
            }
        }
        return line.ToString().TrimEnd(' ');
    }

    /// <summary>Cuts a text to at most <paramref name="max"/> UTF-16 units, with an ellipsis; never splits a character.</summary>
    public static string Shorten(string text, int max)
    {
        if (text.Length <= max)
            return text;
        var end = max - 1;
        while (end > 0 && CharUnicodeInfo.GetUnicodeCategory(text, end) is UnicodeCategory.NonSpacingMark or UnicodeCategory.EnclosingMark
            || end > 0 && char.IsLowSurrogate(text[end]))
            end--;
        return text[..end].TrimEnd() + "…";
    }
}
