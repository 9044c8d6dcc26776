namespace HibpIngest.Tests.Names;

public sealed class SpellingTests
{
    private static readonly string[] Known = ["MAILSPERSECOND", "MAIL", "MAIL_FROM", "STORAGE", "STORAGE_2", "LOG"];

    [Theory]
    [InlineData("MAILSPERSECOND", "MALSPERSECOND", "MAILPERSECOND")]
    [InlineData("MAIL", "mial")]
    [InlineData("STORAGE", "STOARGE")]
    [InlineData("STORAGE_2", "STROAGE_2")]
    [InlineData("LOG", "LOGS", "LGO")]
    [InlineData(null, "FOO", "DATABASE", "X")]
    public void Nearest_returns_the_closest_known_word_or_null(string? expected, params string[] words) =>
        Assert.All(words, word => Assert.Equal(expected, Spelling.Nearest(word, Known)));

    [Theory]
    [InlineData("", "", 0)]
    [InlineData("abc", "", 3)]
    [InlineData("kitten", "sitting", 3)]
    [InlineData("ab", "ba", 1)]
    [InlineData("Ca", "cA", 0)]
    [InlineData("ca", "abc", 3)]
    public void Distance_counts_edits_ignoring_case(string one, string other, int expected)
    {
        Assert.Equal(expected, Spelling.Distance(one, other));
        Assert.Equal(expected, Spelling.Distance(other, one));
    }
}
