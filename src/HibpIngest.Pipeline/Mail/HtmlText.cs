using System.Net;

namespace HibpIngest.Pipeline.Mail;

/// <summary>Reduces HTML to plain text, which may contain a &lt;: encode it before putting it into HTML.</summary>
internal static class HtmlText
{
    private const char ParagraphSeparator = '\u2029';

    /// <summary>A text without tags is split at its line ends. Entities are decoded in either case.</summary>
    public static IReadOnlyList<string> Paragraphs(string text)
    {
        var plain = new StringBuilder(text.Length);
        var isHtml = false;
        for (var i = 0; i < text.Length;)
        {
            if (text[i] == '<' && EndOfTag(text, i) is > 0 and var end)
            {
                isHtml = true;
                plain.Append(SeparatorFor(text.AsSpan(i, end - i)));
                i = end;
                continue;
            }
            plain.Append(text[i++]);
        }
        var separators = isHtml ? new[] { ParagraphSeparator } : [ParagraphSeparator, '\n', '\r'];
        return [.. plain.ToString().Split(separators).Select(paragraph => MailText.OneLine(WebUtility.HtmlDecode(paragraph))).Where(
            paragraph => paragraph.Length > 0)];
    }

    /// <returns>-1 if the &lt; is an ordinary character.</returns>
    private static int EndOfTag(string text, int start)
    {
        if (text.AsSpan(start).StartsWith("<!--"))
            return IndexAfter(text, "-->", start + 4);
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
                return name.Equals("script", StringComparison.OrdinalIgnoreCase) ? IndexAfter(text, "</script>", i + 1)
                    : name.Equals("style", StringComparison.OrdinalIgnoreCase) ? IndexAfter(text, "</style>", i + 1)
                    : i + 1;
            }
        }
        return -1;
    }

    private static int IndexAfter(string text, string value, int start)
    {
        var found = text.IndexOf(value, start, StringComparison.OrdinalIgnoreCase);
        return found < 0 ? text.Length : found + value.Length;
    }

    private static string SeparatorFor(ReadOnlySpan<char> tag)
    {
        if (IsBlock(tag))
            return $"{ParagraphSeparator}";
        return IsInline(tag) ? "" : " ";
    }

    private static bool IsBlock(ReadOnlySpan<char> tag) => Name(tag.StartsWith("</") ? tag[1..] : tag).ToString().ToLowerInvariant()
        is "p" or "br" or "li" or "ul" or "ol" or "div" or "h1" or "h2" or "h3" or "h4" or "tr" or "table" or "blockquote";

    private static bool IsInline(ReadOnlySpan<char> tag) =>
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
