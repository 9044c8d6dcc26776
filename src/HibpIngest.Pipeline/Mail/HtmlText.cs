using System.Net;

namespace HibpIngest.Pipeline.Mail;

/// <summary>Reduces HTML to text. The result may contain a &lt; and must be encoded again before it is put into HTML.</summary>
internal static class HtmlText
{
    // Returns the paragraphs of HTML, without tags, comments, scripts and styles and with entities resolved, or the lines of text.
    public static IReadOnlyList<string> Paragraphs(string text)
    {
        var plain = new StringBuilder(text.Length);
        var isHtml = false;
        for (var i = 0; i < text.Length;)
        {
            if (text[i] == '<' && EndOfTag(text, i) is > 0 and var end)
            {
                isHtml = true;
                plain.Append(IsBlock(text.AsSpan(i, end - i)) ? '\u2029' : IsBreakless(text.AsSpan(i, end - i)) ? "" : " ");
                i = end;
                continue;
            }
            plain.Append(text[i++]);
        }
        var separators = isHtml ? new[] { '\u2029' } : ['\u2029', '\n', '\r'];
        return [.. plain.ToString().Split(separators).Select(paragraph => MailText.OneLine(WebUtility.HtmlDecode(paragraph))).Where(
            paragraph => paragraph.Length > 0)];
    }

    /// <summary>Returns the end of the tag, comment, script or style that begins at <paramref name="start"/>.</summary>
    /// <returns>-1: the &lt; is an ordinary character.</returns>
    private static int EndOfTag(string text, int start)
    {
        if (text.AsSpan(start).StartsWith("<!--"))
            return After(text, "-->", start + 4);
        if (start + 1 >= text.Length || !(char.IsAsciiLetter(text[start + 1]) || text[start + 1] is '/' or '!' or '?'))
            return -1;
        var quote = '\0';
        for (var i = start + 1; i < text.Length; i++)
        {
            if (quote != '\0')
            {
                if (text[i] == quote)
                    quote = '\0';
            }
            // A quote begins a value only after an =; elsewhere it is an apostrophe.
            else if (text[i] is '"' or '\'' && text[i - 1] == '=')
            {
                quote = text[i];
            }
            else if (text[i] == '>')
            {
                var name = Name(text.AsSpan(start));
                return name.Equals("script", StringComparison.OrdinalIgnoreCase) ? After(text, "</script>", i + 1)
                    : name.Equals("style", StringComparison.OrdinalIgnoreCase) ? After(text, "</style>", i + 1)
                    : i + 1;
            }
        }
        return -1;
    }

    private static int After(string text, string what, int from)
    {
        var found = text.IndexOf(what, from, StringComparison.OrdinalIgnoreCase);
        return found < 0 ? text.Length : found + what.Length;
    }

    private static bool IsBlock(ReadOnlySpan<char> tag) => Name(tag.StartsWith("</") ? tag[1..] : tag).ToString().ToLowerInvariant()
        is "p" or "br" or "li" or "ul" or "ol" or "div" or "h1" or "h2" or "h3" or "h4" or "tr" or "table" or "blockquote";

    private static bool IsBreakless(ReadOnlySpan<char> tag) =>
        !tag.StartsWith("<!") && !tag.StartsWith("<?") && Name(tag.StartsWith("</") ? tag[1..] : tag).ToString().ToLowerInvariant()
        is not ("script" or "style" or "td" or "th" or "img");

    private static ReadOnlySpan<char> Name(ReadOnlySpan<char> tag)
    {
        var length = 0;
        while (1 + length < tag.Length && char.IsAsciiLetterOrDigit(tag[1 + length]))
            length++;
        return tag.Slice(1, length);
    }
}
