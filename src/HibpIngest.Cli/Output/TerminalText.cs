using System.Buffers;

namespace HibpIngest.Cli.Output;

/// <summary>
/// Cleans text before it is printed. Titles, domains, data classes and file names come from the person who dropped a file, error texts from
/// servers: control characters in them can command the terminal (its title, its clipboard, overwritten lines), and bidirectional control
/// characters reorder what a reader sees.
/// </summary>
internal static class TerminalText
{
    private const char Replacement = '\uFFFD';

    // Joiners combine letters in Persian, Hindi and others, and the parts of an emoji.
    private const int NonJoiner = 0x200C;
    private const int Joiner = 0x200D;

    /// <summary>Replaces every character that a terminal interprets instead of showing it, by U+FFFD. Line ends and tabs stay.</summary>
    public static string Clean(string text) => Replace(text, keepsLines: true);

    public static string OneLine(string text) => Replace(text, keepsLines: false);

    /// <summary>Escapes the same characters in a JSON document, whose meaning stays the same.</summary>
    /// <param name="json">Serialised JSON without control characters; the characters to escape occur in strings only.</param>
    public static string EscapeJson(string json)
    {
        if (!json.Any(letter => letter > 0x7E))
            return json;
        var escaped = new StringBuilder(json.Length + 16);
        foreach (var letter in json)
        {
            if (letter > 0x7E && IsObeyed(new Rune(char.IsSurrogate(letter) ? 'x' : letter)))
                escaped.Append(CultureInfo.InvariantCulture, $"\\u{(int)letter:X4}");
            else
                escaped.Append(letter);
        }
        return escaped.ToString();
    }

    private static string Replace(string text, bool keepsLines)
    {
        if (text.All(letter => letter is >= ' ' and <= '~'))
            return text;
        var clean = new StringBuilder(text.Length);
        for (var i = 0; i < text.Length;)
        {
            var isWhole = Rune.DecodeFromUtf16(text.AsSpan(i), out var rune, out var length) == OperationStatus.Done;
            if (rune.Value is '\n' or '\t')
                clean.Append(keepsLines ? text[i] : ' ');
            else if (rune.Value == '\r' && i + 1 < text.Length && text[i + 1] == '\n')
                clean.Append(keepsLines ? "\r" : "");
            else if (!isWhole || IsObeyed(rune))
                clean.Append(Replacement);
            else
                clean.Append(text.AsSpan(i, length));
            i += length;
        }
        return clean.ToString();
    }

    private static bool IsObeyed(Rune rune) => rune.Value is not (NonJoiner or Joiner) && Rune.GetUnicodeCategory(rune) is
        UnicodeCategory.Control or UnicodeCategory.Format or UnicodeCategory.LineSeparator or UnicodeCategory.ParagraphSeparator;
}
