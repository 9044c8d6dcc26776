using System.Xml.Linq;
using HibpIngest.Api.Pages;

namespace HibpIngest.Tests.Api;

public sealed class PageTextTests
{
    private static readonly string Folder = Path.GetDirectoryName(RepositoryFile.Path("src/HibpIngest.Api/Pages/Text.resx"))!;

    [Fact]
    public void Every_text_is_used_and_every_used_text_exists()
    {
        var texts = XDocument.Load(Path.Combine(Folder, "Text.resx")).Descendants("data").Select(data => (string)data.Attribute("name")!)
            .ToList();
        var code = string.Concat(Directory.GetFiles(Folder).Where(file => file.EndsWith(".razor", StringComparison.Ordinal)
            || file.EndsWith(".cs", StringComparison.Ordinal)).Select(File.ReadAllText));
        // A name that is composed, such as $"Flag.{flag}", is known by its beginning.
        var used = Patterns.Find(
            code, """\$?"(?<found>[A-Z][A-Za-z]*\.([A-Z][A-Za-z]*\.)?([A-Z][A-Za-z]*(?=")|(?=\{)))""").Distinct().ToList();
        Assert.True(used.Count > 40, "the pages were expected to use texts");
        Assert.All(used, name => Assert.Contains(texts, text => IsNamedBy(name, text)));
        Assert.All(texts, text => Assert.Contains(used, name => IsNamedBy(name, text)));
        Assert.All(texts, text => Assert.NotEmpty(PageText.Get(text)));
    }

    private static bool IsNamedBy(string name, string text) =>
        name.EndsWith('.') ? text.StartsWith(name, StringComparison.Ordinal) : text == name;
}
