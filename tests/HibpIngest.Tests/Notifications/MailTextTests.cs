using HibpIngest.Pipeline.Mail;

namespace HibpIngest.Tests.Notifications;

public sealed class MailTextTests
{
    [Theory]
    [InlineData("plain", "plain")]
    [InlineData("two\nlines\r\n\r\n here ", "two|lines|here")]
    [InlineData("<p>a</p>\n<p>b\nc</p>", "a|b c")]
    [InlineData("a<br>b<BR/>c<br />d", "a|b|c|d")]
    [InlineData("<em>a</em>b <a href='x' title=\"y>z\">c</a>d", "ab cd")]
    [InlineData("<ul><li>a</li><li>b</li></ul>", "a|b")]
    [InlineData("a &amp; b &lt;script&gt; &quot;c&quot; &#39;d&#39;&nbsp;&eacute;", "a & b <script> \"c\" 'd' é")]
    [InlineData("&amp;lt;b&amp;gt;", "&lt;b&gt;")]
    [InlineData("a<script>alert('</p>')</script>b<style>p { }</style>c", "a b c")]
    [InlineData("a<SCRIPT src=x>never closed", "a")]
    [InlineData("a<!-- <p>hidden</p> -->b", "a b")]
    [InlineData("a<!-- never closed", "a")]
    [InlineData("1 < 2 and 3 > 2", "1 < 2 and 3 > 2")]
    [InlineData("I <3 this", "I <3 this")]
    [InlineData("a <b never closed", "a <b never closed")]
    [InlineData("<p>don't <b>won't</b></p>", "don't won't")]
    [InlineData("<table><tr><td>a</td><td>b</td></tr></table>", "a b")]
    [InlineData("<p></p>  <br>", "")]
    public void Html_is_reduced_to_its_text(string html, string paragraphs) =>
        Assert.Equal(paragraphs, string.Join('|', HtmlText.Paragraphs(html)));

    [Fact]
    public void Hostile_html_is_reduced_in_bounded_time()
    {
        // The longest description, made only of unclosed starts: a reader that rescanned from each of them would not finish.
        foreach (var piece in new[] { "<a", "<", "<!--", "<a href=\"", "&", "<script>" })
        {
            var text = string.Concat(Enumerable.Repeat(piece, 8_000 / piece.Length));
            Assert.True(string.Concat(HtmlText.Paragraphs(text)).Length <= text.Length);
        }
    }

    [Fact]
    public void Template_renders_sections_lists_and_encoded_values()
    {
        var template = new MailTemplate("<p>{{name}}</p>\n{{#yes}}\nyes "
            + "{{name}}\n{{/yes}}\n{{#no}}\nno\n{{/no}}\n{{#text}}\n[{{text}}]\n{{/text}}\n{{#empty}}\nempty\n{{/empty}}\n"
            + "<ul>{{#items}}<li>{{.}}</li>{{/items}}</ul>", html: true);

        var result = template.Render(new Dictionary<string, object?>
        {
            ["name"] = "<b>\"&'{{yes}}",
            ["yes"] = true,
            ["no"] = false,
            ["text"] = "t",
            ["empty"] = null,
            ["items"] = new List<string> { "a>b", "{{name}}" },
        });

        Assert.Equal("<p>&lt;b&gt;&quot;&amp;&#39;{{yes}}</p>\nyes "
            + "&lt;b&gt;&quot;&amp;&#39;{{yes}}\n[t]\n<ul><li>a&gt;b</li><li>{{name}}</li></ul>", result);
    }

    [Fact]
    public void Text_template_encodes_nothing() =>
        Assert.Equal("<a> & b", new MailTemplate("{{x}}", html: false).Render(new Dictionary<string, object?> { ["x"] = "<a> & b" }));

    [Theory]
    [InlineData("{{unknown}}")]
    [InlineData("{{#unknown}}x{{/unknown}}")]
    [InlineData("{{.}}")]
    [InlineData("{{#x}}never closed")]
    public void Invalid_template_throws(string template) =>
        Assert.Throws<InvalidOperationException>(
            () => new MailTemplate(template, html: false).Render(new Dictionary<string, object?> { ["x"] = "y" }));

    [Theory]
    [InlineData("a=b", "a=3Db\r\n")]
    [InlineData("ä", "=C3=A4\r\n")]
    [InlineData("a ", "a=20\r\n")]
    [InlineData("a\t\nb", "a=09\r\nb\r\n")]
    [InlineData("a\r\nb\nc", "a\r\nb\r\nc\r\n")]
    [InlineData("From here", "=46rom here\r\n")]
    [InlineData("\0", "=00\r\n")]
    public void Quoted_printable_follows_the_rfc(string text, string encoded) => Assert.Equal(encoded, QuotedPrintable(text));

    [Fact]
    public void Quoted_printable_lines_break_at_76_characters()
    {
        for (var length = 70; length <= 160; length++)
        {
            foreach (var end in new[] { "", "=", "ä", " " })
            {
                var encoded = QuotedPrintable(new string('a', length) + end);
                Assert.All(encoded.Split("\r\n"), line => Assert.InRange(line.Length, 0, 76));
                var escaped = end switch { "=" => "=3D", "ä" => "=C3=A4", " " => "=20", _ => end };
                Assert.Equal(new string('a', length) + escaped + "\r\n", encoded.Replace("=\r\n", ""));
            }
        }
    }

    private static string QuotedPrintable(string text) => Encoding.ASCII.GetString(MailComposer.QuotedPrintable(text));
}
