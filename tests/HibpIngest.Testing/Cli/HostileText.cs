using System.Globalization;
using System.Text;

namespace HibpIngest.Testing;

/// <summary>What a dropper may write into a breach's metadata to command an operator's terminal, or to mislead its reader.</summary>
public static class HostileText
{
    /// <summary>One of each kind.</summary>
    public static readonly IReadOnlyList<string> All =
    [
        "\u001b]0;owned\u0007", // OSC: the window's title
        "\u001b]52;c;b3duZWQ=\u001b\\", // OSC: the clipboard
        "\u001b[2J\u001b[1A\u001b[31m", // CSI: clears, moves, colours
        "\u009b31m\u009d0;owned\u009c", // the same as C1
        "\u0085", "\u0090", "\u0000", "\b\b\b", "\a", "\u007f", "\rover", "\v\f", "\u000e\u000f",
        "\u202aa\u202bb\u202cc\u202dd\u202ee", // embeddings and overrides of direction
        "\u2066a\u2067b\u2068c\u2069d", // isolates
        "\u200e\u200f\u061c", // marks of direction
        "\u2028", "\u2029", // line separators
        "\ufeff\u200b\u2060\u00ad", // not seen at all
    ];

    /// <summary>All of it in one text.</summary>
    public static string Everything => string.Concat(All);

    /// <summary>Asserts that a text holds nothing that a terminal obeys.</summary>
    /// <param name="printed">As it was printed.</param>
    /// <param name="hint">Which command printed it.</param>
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
