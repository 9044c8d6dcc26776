namespace HibpIngest.Tests.Names;

/// <summary>Tests spelling suggestions.</summary>
public sealed class SpellingTests
{
    private static readonly string[] Known = ["MAILSPERSECOND", "MAIL", "MAIL_FROM", "STORAGE", "STORAGE_2", "LOG"];

    [Theory]
    [InlineData("MALSPERSECOND", "MAILSPERSECOND")]
    [InlineData("MAILPERSECOND", "MAILSPERSECOND")]
    [InlineData("mial", "MAIL")]
    [InlineData("STOARGE", "STORAGE")]
    [InlineData("STROAGE_2", "STORAGE_2")]
    [InlineData("LOGS", "LOG")]
    [InlineData("LGO", "LOG")]
    [InlineData("FOO", null)]
    [InlineData("DATABASE", null)]
    [InlineData("X", null)]
    public void Nearest_returns_the_closest_known_word_or_null(string word, string? expected) =>
        Assert.Equal(expected, Spelling.Nearest(word, Known));

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
