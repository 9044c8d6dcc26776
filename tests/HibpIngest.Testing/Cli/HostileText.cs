namespace HibpIngest.Testing;

/// <summary>Metadata that tries to control an operator's terminal or to mislead a reader.</summary>
public static class HostileText
{
    public static readonly IReadOnlyList<string> All =
    [
        "\u001b]0;owned\u0007", // OSC: window title
        "\u001b]52;c;b3duZWQ=\u001b\\", // OSC: clipboard
        "\u001b[2J\u001b[1A\u001b[31m", // CSI: clear, move, colour
        "\u009b31m\u009d0;owned\u009c", // the same as C1 controls
        "\u0085", "\u0090", "\u0000", "\b\b\b", "\a", "\u007f", "\rover", "\v\f", "\u000e\u000f",
        "\u202aa\u202bb\u202cc\u202dd\u202ee", // bidirectional embeddings and overrides
        "\u2066a\u2067b\u2068c\u2069d", // isolates
        "\u200e\u200f\u061c", // direction marks
        "\u2028", "\u2029", // line separators
        "\ufeff\u200b\u2060\u00ad", // invisible characters
    ];

    public static string Everything => string.Concat(All);

    /// <summary>Asserts that a text contains nothing that a terminal interprets.</summary>
    public static void AssertClean(string printed, string hint = "")
    {
        foreach (var rune in printed.EnumerateRunes().Where(rune => rune.Value is not ('\n' or '\t')))
        {
            if (Rune.GetUnicodeCategory(rune) is UnicodeCategory.Control or UnicodeCategory.Format or UnicodeCategory.LineSeparator
                or UnicodeCategory.ParagraphSeparator)
                Assert.Fail($"{hint} printed U+{rune.Value:X4} in: {string.Concat(printed.Select(Visible))}");
        }

        static string Visible(char letter) => letter is >= ' ' and <= '~' or '\n' ? letter.ToString() : $"<{(int)letter:X4}>";
    }
}
