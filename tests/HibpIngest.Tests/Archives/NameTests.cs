using HibpIngest.Archives;
using static HibpIngest.Testing.ArchiveTesting;

namespace HibpIngest.Tests.Archives;

public sealed class NameTests
{
    [Theory]
    [InlineData("users.csv", "users.csv")]
    [InlineData("dump/users of 2019.csv", "dump/users of 2019.csv")]
    [InlineData("[US][address]/passwords.txt", "[US]john.doe+x@gmail.com_1.2.3.4/passwords.txt")]
    [InlineData("a\\[address]\\b", "a\\o'brien@example.com\\b")]
    [InlineData(
        "[address]", "john @ example.com.txt", "john%40example.com.txt", "john\uFF20example.com", "john\uFE6Bexample.com",
        "john%2540example.com", "john%252540example.com", "john%ef%bc%a0example.com", "john%25EF%25B9%25ABexample.com",
        "john%4\u200B0example.com", "jo\u0000hn\u200B@exam\u0007ple.com", "a@b@c@", "@")]
    [InlineData("100%25 of 40%.csv", "100%25 of 40%.csv")]
    [InlineData("[address],[address];g", "a@b.c,d@e.f;g")]
    [InlineData("[address][address]", "@@ @")]
    [InlineData("linebreak[31mredgnp.exe", "line\nbreak\r\u001B[31mred\u202Egnp.exe")]
    [InlineData("../../etc/passwd", "../../etc/passwd")]
    [InlineData("пароли.txt", "пароли.txt")]
    [InlineData("a b", "a\u2028b")]
    public void Display_names_are_redacted(string shown, params string[] names) =>
        Assert.All(names, name => Assert.Equal(shown, EntryName.TopLevel(0, 1, Encoding.UTF8.GetBytes(name)).Path));

    [Fact]
    public void Name_that_is_not_utf8_is_decoded_as_latin_1() =>
        Assert.Equal("caf\u00E9.txt", EntryName.TopLevel(0, 1, Encoding.Latin1.GetBytes("caf\u00E9.txt")).Path);

    [Fact]
    public void Long_names_are_shortened_after_redaction()
    {
        for (var length = 1; length < 400; length++)
        {
            var path = EntryName.TopLevel(
                0, 1, Encoding.UTF8.GetBytes(
                    $"start/{new string('x', length)}@example.com/\U0001F600\U0001F600{new string('y', length)}/end.csv"))
                .Nested(Encoding.UTF8.GetBytes("inner.csv")).Path;
            Assert.InRange(path.Length, 1, EntryName.MaxPath);
            Assert.StartsWith("start/[address]/", path, StringComparison.Ordinal);
            Assert.EndsWith("/inner.csv", path, StringComparison.Ordinal);
            Assert.Equal(path, Encoding.UTF8.GetString(Encoding.UTF8.GetBytes(path))); // no half of a surrogate pair
        }
    }

    [Fact]
    public void Errors_and_texts_carry_the_redacted_name()
    {
        byte[] name = [.. Encoding.UTF8.GetBytes("victim@example.com/"), 0xFF, 0xFE, (byte)'x'];
        var good = RawZip.Of(new RawZip.Entry("", Bytes("text")) { RawName = name });
        Assert.Equal("[address]/\u00FF\u00FEx", Assert.Single(Read(good)).Name);
        var bad = RawZip.Of(new RawZip.Entry("", Bytes("text")) { RawName = name, CentralCrc = 1 });
        Assert.StartsWith("entry 1 of 1 '[address]/\u00FF\u00FEx': ", Refusal(bad), StringComparison.Ordinal);
        var nested = RawZip.Of(new RawZip.Entry("n", RawZip.Of(new RawZip.Entry("", Bytes("text")) { RawName = name, LocalCrc = 1 })));
        Assert.StartsWith("entry 1 of 1 'n/[address]/\u00FF\u00FEx': ", Refusal(nested), StringComparison.Ordinal);
    }
}
