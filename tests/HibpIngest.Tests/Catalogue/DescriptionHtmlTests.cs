using System.Xml.Linq;
using HibpIngest.Pipeline.Catalogue;

namespace HibpIngest.Tests.Catalogue;

public sealed class DescriptionHtmlTests(ITestOutputHelper output)
{
    [Theory]
    [InlineData("", "")]
    [InlineData("a < b & c > d \"e\" 'f'", "a &lt; b &amp; c &gt; d &quot;e&quot; 'f'")]
    [InlineData("&lt;script&gt; &amp;amp; &eacute;&#x41;&#0;", "&lt;script&gt; &amp;amp; \u00e9A\ufffd")]
    [InlineData("In <em>2013</em>,<br/>153 <STRONG>million</STRONG><br>", "In <em>2013</em>,<br>153 <strong>million</strong><br>")]
    [InlineData("<p>one<p>two</p></p>three", "<p>one</p><p>two</p>three")]
    [InlineData("<em>a<p>b</em>c", "<em>a</em><p>bc</p>")]
    [InlineData("<em><strong>a</em>b</strong>c", "<em><strong>a</strong></em>bc")]
    [InlineData("<em>a<em>b</em>c</em>d", "<em>ab</em>cd")]
    [InlineData("</p></em></br>a", "a")]
    [InlineData("<strong>never closed", "<strong>never closed</strong>")]
    [InlineData("<b>bold</b> <div class=x>in</div> <h1>it</h1>", "bold in it")]
    [InlineData("<p onclick=\"alert(1)\" style='x'>a</p>", "<p>a</p>")]
    public void Reduce_keeps_text_and_five_elements(string description, string expected) =>
        Assert.Equal(expected, DescriptionHtml.Reduce(description));

    [Theory]
    [InlineData(
        "<a href=\"https://example.com/a?b=1&amp;c=2\">x</a>",
        "<a href=\"https://example.com/a?b=1&amp;c=2\" target=_blank rel=noopener>x</a>")]
    [InlineData("<a href=\"http://example.com/\">x</a>", "<A HREF=http://example.com>x</A>")]
    [InlineData("<a href=\"https://example.com/%22onclick=%22x\">x</a>", "<a href='https://example.com/\"onclick=\"x'>x</a>")]
    [InlineData(
        "<a href=\"https://example.com/\">x</a><a href=\"https://example.org/\">y</a>z",
        "<a href=https://example.com>x<a href=https://example.org>y</a>z</a>")]
    [InlineData(
        "x", "<a href=\"javascript:alert(1)\">x</a>", "<a href=\" java\tscript:alert(1)\">x</a>",
        "<a href=\"&#106;avascript&colon;alert(1)\">x</a>", "<a href=\"data:text/html,x\">x</a>", "<a href=\"//example.com\">x</a>",
        "<a href=\"/local\">x</a>", "<a href=\"https://good.example@bad.example/\">x</a>", "<a>x</a>")]
    public void Reduce_keeps_links_to_web_pages_only(string expected, params string[] descriptions) =>
        Assert.All(descriptions, description => Assert.Equal(expected, DescriptionHtml.Reduce(description)));

    [Theory]
    [InlineData(
        "ab", "a<script>alert('<em>')</script>b", "a<script><!-- <script> </script> --></script>b", "a<STYLE>p{}</STYLE>b",
        "a<!-- <em>x</em> -->b", "a<iframe src=x><p>y</iframe>b", "a<textarea><img src=x onerror=y></textarea>b",
        "a<img src=x onerror=alert(1)>b", "a<svg><script>x</script></svg>b", "a<!DOCTYPE html><?xml?>b")]
    [InlineData("a&quot;&gt;b", "a<noscript><p title=\"</noscript><img src=x onerror=y>\">b")]
    [InlineData("a", "a<script>never closed", "a<!-- never closed", "a<em title=\"never closed")]
    [InlineData("a&lt;", "a<")]
    public void Reduce_removes_scripts_comments_and_embedded_content(string expected, params string[] descriptions) =>
        Assert.All(descriptions, description => Assert.Equal(expected, DescriptionHtml.Reduce(description)));

    [Fact]
    public void Reduce_drops_characters_that_HTML_forbids()
    {
        // Includes half a surrogate pair, which a test's attribute can't contain.
        Assert.Equal("a\n\tb\ud83d\ude00c", DescriptionHtml.Reduce("a\n\t\u0001\u001bb\ud83d\ude00\ud83dc"));
    }

    [Fact]
    public void Reduced_descriptions_are_well_formed_and_reduce_to_themselves()
    {
        const int Seed = 20260122;
        output.WriteLine($"seed {Seed}");
        var random = new Random(Seed);
        string[] parts =
        [
            "<", ">", "</", "/>", "\"", "'", "=", "&", ";", " ", "\n", "\r", "\t", "\0", "<!--", "-->", "<![CDATA[", "]]>", "<?", "<!",
            "&#", "&#x", "&amp", "&lt;", "&quot;", "\u00e4", "\ud83d\ude00", "\ud83d", "\uffff", "p", "br", "em",
            "strong", "a", "script", "style",
            "svg", "math", "title", "plaintext", "template", "<p>", "</p>", "<br>", "<em>", "</em>", "<strong>", "</strong>",
            "<a href=\"https://example.com/?a=b&c\">", "<a href='javascript:x'>", "<a href=http://\u00e4.example/%20\"'>", "</a>",
            "<script>", "</script>", "<style>", "</style>",
            "<textarea>", "</textarea>", "<plaintext>", " href=", " onclick=", "https://", "javascript:", "text",
        ];
        for (var i = 0; i < 20_000; i++)
        {
            var description = new StringBuilder();
            for (var length = random.Next(1, 25); length > 0; length--)
                description.Append(parts[random.Next(parts.Length)]);
            AssertSafe(description.ToString());
        }
    }

    [Fact]
    public void A_megabyte_of_nested_elements_is_reduced_safely()
    {
        // For nested elements with attributes, a browser's tree would grow with the square of their number.
        var hostile = new StringBuilder();
        for (var i = 0; hostile.Length < 1 << 20; i++)
            hostile.Append("<em x=").Append(i).Append("><a href=http://x.example/>").Append("<p>x");
        AssertSafe(hostile.ToString());
    }

    private static void AssertSafe(string description)
    {
        var reduced = DescriptionHtml.Reduce(description);
        try
        {
            Assert.Equal(reduced, DescriptionHtml.Reduce(reduced));
            var tree = XElement.Parse($"<all>{reduced.Replace("<br>", "<br/>", StringComparison.Ordinal)}</all>");
            foreach (var element in tree.Descendants())
            {
                Assert.Contains(element.Name.LocalName, (string[])["a", "br", "em", "p", "strong"]);
                Assert.DoesNotContain(element.Ancestors(), ancestor => ancestor.Name == element.Name);
                Assert.True(element.Name == "a" == element.HasAttributes);
                Assert.All(element.Attributes(), attribute => Assert.Matches("^https?://[^\"<>]+$", attribute.Value));
            }
        }
        catch (Exception e)
        {
            throw new InvalidOperationException($"{description} became {reduced}", e);
        }
    }
}
