using HibpIngest.Archives;

namespace HibpIngest.Tests.Names;

/// <summary>
/// Tests that names of breaches and of their blobs can't contain an @ in any encoding. They are logged, so they must not
/// be addresses.
/// </summary>
public sealed class BreachNameTests
{
    /// <summary>Forms of an @ in a file name.</summary>
    public static TheoryData<string> Ats =>
    [
        "@", " @ ", "%40", "%2540", "%252540", "\uFF20", "\uFE6B", "%EF%BC%A0", "%ef%bc%a0", "%25EF%25BC%25A0", "%EF%B9%AB",
        "%4\u200B0", "%\u00AD40", "%2\u20605\u206040",
    ];

    [Theory]
    [MemberData(nameof(Ats))]
    public void Names_with_an_at_in_any_encoding_are_rejected_without_being_echoed(string at)
    {
        var name = $"john.doe{at}example.com";
        string[] messages =
        [
            Assert.Throws<BadInputException>(() => BreachName.FromBlob(name + ".zip")).Message,
            Assert.Throws<BadInputException>(() => BreachName.FromBlob(name + ".2.ZIP")).Message,
            Assert.Throws<BadInputException>(() => BreachName.FromBlob($"{name}/Adobe.zip")).Message,
            Assert.Throws<BadInputException>(() => BreachName.FromBlob($"2013/{name}/Adobe.2.zip")).Message,
            Assert.Throws<BadInputException>(() => BreachName.Check(name)).Message,
            Assert.Throws<BadInputException>(() => BreachMetadata.Parse(Encoding.UTF8.GetBytes($$"""{"Name":"{{name}}"}"""))).Message,
        ];
        Assert.All(messages, message =>
        {
            Assert.DoesNotContain("john", message, StringComparison.Ordinal);
            Assert.DoesNotContain("example", message, StringComparison.Ordinal);
        });
        // The same rule redacts an entry's name and refuses a breach's.
        Assert.Equal("[address]", EntryName.TopLevel(0, 1, Encoding.UTF8.GetBytes(name)).Path);
    }

    [Theory]
    [InlineData(
        "Adobe", "Adobe.zip", "2013/Adobe.2.ZIP", "Adobe.tar.gz", "Adobe.2.tgz", "2013/Adobe.2.CSV", "Adobe.10.sql.gz", "Adobe.2.tar")]
    [InlineData("Adobe 100% of 40", "Adobe 100% of 40.zip")]
    [InlineData("%41dobe%20", "%41dobe%20.zip")]
    [InlineData("Я", "Я.zip")]
    [InlineData("data", "data.json.gz")]
    [InlineData("Adobe.bak", "Adobe.bak.gz")]
    [InlineData("Adobe.zip", "Adobe.zip.txt")]
    public void FromBlob_drops_folder_part_number_and_extension(string name, params string[] blobs) =>
        Assert.All(blobs, blob => Assert.Equal(name, BreachName.FromBlob(blob)));

    [Theory]
    [InlineData("2013/Adobe.2.zip", "2013/Adobe.2.json 2013/Adobe.json", "2013/Adobe.2.png 2013/Adobe.png")]
    [InlineData("Adobe.2.tar.gz", "Adobe.2.json Adobe.json", "Adobe.2.png Adobe.png")]
    [InlineData("Adobe.json.gz", "Adobe.json", "Adobe.png")]
    public void Metadata_and_logo_blobs_are_named_after_the_breach(string blob, string metadata, string logos)
    {
        Assert.Equal(metadata.Split(' '), BreachName.MetadataBlobs(blob));
        Assert.Equal(logos.Split(' '), BreachName.LogoBlobs(blob));
        // Such a file isn't a breach itself.
        Assert.All([.. metadata.Split(' '), .. logos.Split(' ')], name => Assert.Null(BreachFiles.FormatOf(name)));
    }

    [Fact]
    public void Each_format_has_extensions_and_blobs_with_other_extensions_are_rejected()
    {
        Assert.Equal(Enum.GetValues<BreachFormat>().Order(), BreachFiles.Extensions.Select(one => BreachFiles.FormatOf("a" + one)!.Value)
            .Distinct().Order());
        Assert.All(BreachFiles.Extensions, one => Assert.Equal(one, BreachFiles.ExtensionOf("A" + one.ToUpperInvariant())));
        foreach (var name in (string[])["a", "a.json", "a.png", "a.7z", "a.rar", "a.zip.part", "a.zip/b", "zip", "a.gz.bak"])
        {
            Assert.Null(BreachFiles.FormatOf(name));
            Assert.Contains(".tgz", Assert.Throws<BadInputException>(() => BreachName.FromBlob(name)).Message, StringComparison.Ordinal);
        }
    }
}
