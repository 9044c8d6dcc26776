using System.Globalization;
using System.Text;

namespace HibpIngest.Pipeline;

/// <summary>Makes foreign text fit a mail: one line, at most so long.</summary>
internal static class MailText
{
    /// <summary>
    /// Every run of white space and control characters becomes one space; marks that turn the direction of
    /// writing are taken out.
    /// </summary>
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

    /// <summary>
    /// At most so many UTF-16 units, the last of them an ellipsis where something was cut off; never cuts a
    /// character in two.
    /// </summary>
    public static string Shorten(string text, int most)
    {
        if (text.Length <= most)
            return text;
        var end = most - 1;
        while (end > 0 && CharUnicodeInfo.GetUnicodeCategory(text, end) is UnicodeCategory.NonSpacingMark or UnicodeCategory.EnclosingMark
            || end > 0 && char.IsLowSurrogate(text[end]))
            end--;
        return text[..end].TrimEnd() + "…";
    }
}
