using System.Xml;
using AngleSharp.Html;
using AngleSharp.Html.Parser;
using AngleSharp.Html.Parser.Tokens;
using AngleSharp.Text;

namespace HibpIngest.Pipeline.Catalogue;

/// <summary>Reduces untrusted HTML to text, em, strong, br, p and a with an http(s) link; always well-formed, and idempotent.</summary>
/// <remarks>
/// AngleSharp's tokenizer reads as a browser does. No tree is built: the tree for "&lt;b x=1&gt;&lt;b x=2&gt;..." grows with the square of
/// the text's length. Each element is open at most once, so that it can't nest in itself.
/// </remarks>
internal static class DescriptionHtml
{
    /// <summary>Elements whose content a browser doesn't show as text.</summary>
    private static readonly Dictionary<string, HtmlParseMode> Unseen = new()
    {
        ["script"] = HtmlParseMode.Script,
        ["style"] = HtmlParseMode.Rawtext,
        ["xmp"] = HtmlParseMode.Rawtext,
        ["iframe"] = HtmlParseMode.Rawtext,
        ["noembed"] = HtmlParseMode.Rawtext,
        ["noframes"] = HtmlParseMode.Rawtext,
        ["noscript"] = HtmlParseMode.Rawtext,
        ["title"] = HtmlParseMode.RCData,
        ["textarea"] = HtmlParseMode.RCData,
    };

    public static string Reduce(string description)
    {
        using var source = new TextSource(description);
        using var tokens = new HtmlTokenizer(source, HtmlEntityProvider.Resolver);
        var reduced = new Output();
        for (var token = tokens.Get(); token.Type != HtmlTokenType.EndOfFile; token = tokens.Get())
        {
            switch (token.Type)
            {
                case HtmlTokenType.Character:
                    reduced.Text(token.Data);
                    break;
                case HtmlTokenType.EndTag:
                    reduced.End(token.Name);
                    break;
                case HtmlTokenType.StartTag when Unseen.TryGetValue(token.Name, out var mode):
                    tokens.State = mode;
                    SkipTo(tokens, token.Name);
                    break;
                case HtmlTokenType.StartTag:
                    reduced.Start((HtmlTagToken)token);
                    break;
            }
        }
        return reduced.Finish();
    }

    private static void SkipTo(HtmlTokenizer tokens, string end)
    {
        for (var token = tokens.Get(); token.Type != HtmlTokenType.EndOfFile; token = tokens.Get())
        {
            if (token.Type == HtmlTokenType.EndTag && token.Name == end)
                return;
        }
    }

    private sealed class Output
    {
        private readonly StringBuilder _html = new();
        private readonly List<string> _open = [];

        public void Text(string text)
        {
            for (var i = 0; i < text.Length; i++)
            {
                if (char.IsSurrogate(text[i]))
                {
                    if (i + 1 < text.Length && char.IsSurrogatePair(text[i], text[i + 1]))
                        _html.Append(text[i]).Append(text[++i]);
                    continue;
                }
                _ = text[i] switch
                {
                    '&' => _html.Append("&amp;"),
                    '<' => _html.Append("&lt;"),
                    '>' => _html.Append("&gt;"),
                    '"' => _html.Append("&quot;"),
                    // A browser reads a carriage return as a line feed.
                    '\r' => _html.Append('\n'),
                    _ when XmlConvert.IsXmlChar(text[i]) => _html.Append(text[i]),
                    _ => _html, // a control character
                };
            }
        }

        public void Start(HtmlTagToken tag)
        {
            switch (tag.Name)
            {
                case "br":
                    _html.Append("<br>");
                    break;
                case "p":
                    CloseFrom(0);
                    Open("p", "");
                    break;
                case "a":
                    End("a");
                    if (WebAddress.TryParseLink(tag.GetAttribute("href")) is { } address)
                        Open("a", address.AbsoluteUri);
                    break;
                case "em" or "strong" when !_open.Contains(tag.Name):
                    Open(tag.Name, "");
                    break;
            }
        }

        public void End(string name)
        {
            if (_open.IndexOf(name) is >= 0 and var first)
                CloseFrom(first);
        }

        public string Finish()
        {
            CloseFrom(0);
            return _html.ToString();
        }

        private void Open(string name, string address)
        {
            _open.Add(name);
            _html.Append('<').Append(name);
            if (address.Length > 0)
            {
                _html.Append(" href=\"");
                Text(address);
                _html.Append('"');
            }
            _html.Append('>');
        }

        private void CloseFrom(int first)
        {
            for (; _open.Count > first; _open.RemoveAt(_open.Count - 1))
                _html.Append("</").Append(_open[^1]).Append('>');
        }
    }
}
