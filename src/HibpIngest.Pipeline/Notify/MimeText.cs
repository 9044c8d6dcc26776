using System.Globalization;
using System.Text;

namespace HibpIngest.Pipeline;

/// <summary>
/// The encodings of RFC 2045 and 2047 that a mail of ours needs. System.Net.Mail has them too, but sets random
/// boundaries, and a mail that is composed again has to come out the same, byte by byte.
/// </summary>
internal static class MimeText
{
    private const int MaxLine = 76;
    private const int MaxEncodedWord = 75;

    /// <summary>
    /// A header with its line end: as it is where it is short printable ASCII, else in encoded words of UTF-8,
    /// one a line.
    /// </summary>
    public static string Header(string name, string value)
    {
        value = OneLine(value);
        return IsPlain(value) && name.Length + 2 + value.Length <= MaxLine
            ? $"{name}: {value}\r\n" : $"{name}: {EncodedWords(value, name.Length + 2)}\r\n";
    }

    /// <summary>The header From or To: a name and an address that keeps <see cref="MailSyntax.IsAddress"/>.</summary>
    public static string AddressHeader(string header, string? name, string address)
    {
        if (name is null)
            return $"{header}: {address}\r\n";
        name = OneLine(name);
        var quoted = $"\"{name.Replace("\\", "\\\\").Replace("\"", "\\\"")}\"";
        var shown = IsPlain(name) && header.Length + 2 + quoted.Length <= MaxLine ? quoted : EncodedWords(name, header.Length + 2);
        return $"{header}: {shown}\r\n <{address}>\r\n";
    }

    /// <summary>
    /// Every run of white space and control characters becomes one space; marks that turn the direction of
    /// writing are taken out.
    /// </summary>
    public static string OneLine(string text)
    {
        var line = new StringBuilder(text.Length);
        foreach (var rune in text.EnumerateRunes())
        {
            if (rune.Value is >= 0x202A and <= 0x202E or >= 0x2066 and <= 0x2069)
                continue;
            if (Rune.IsWhiteSpace(rune) || Rune.IsControl(rune))
            {
                if (line.Length > 0 && line[^1] != ' ')
                    line.Append(' ');
            }
            else
            {
                line.Append(rune);
            }
        }
        return line.ToString().TrimEnd(' ');
    }

    /// <summary>
    /// At most so many UTF-16 units, the last of them an ellipsis where something was cut off; never cuts a
    /// character in two.
    /// </summary>
    public static string Shorten(string text, int most)
    {
        if (text.Length <= most)
            return text;
        var end = most - 1;
        while (end > 0 && CharUnicodeInfo.GetUnicodeCategory(text, end) is UnicodeCategory.NonSpacingMark or UnicodeCategory.EnclosingMark
            || end > 0 && char.IsLowSurrogate(text[end]))
            end--;
        return text[..end].TrimEnd() + "…";
    }

    /// <summary>
    /// UTF-8 as quoted-printable, lines of at most 76 characters, every line end of <paramref name="text"/> (LF
    /// or CRLF) as CRLF.
    /// </summary>
    public static string QuotedPrintable(string text)
    {
        var encoded = new StringBuilder(text.Length + text.Length / 8);
        foreach (var line in text.ReplaceLineEndings("\n").TrimEnd('\n').Split('\n'))
        {
            var bytes = Encoding.UTF8.GetBytes(line);
            var column = 0;
            for (var i = 0; i < bytes.Length; i++)
            {
                var value = bytes[i];
                var last = i == bytes.Length - 1;
                // Blanks at a line's end get lost on the way; a "From " at its start is rewritten by some that
                // deliver into files.
                var literal = value is >= 33 and <= 126 and not (byte)'=' || value is (byte)' ' or (byte)'\t' && !last;
                if (column == 0 && value == (byte)'F' && bytes.AsSpan(i).StartsWith("From "u8))
                    literal = false;
                var width = literal ? 1 : 3;
                // The last character of a line may take the column that the soft break would have.
                if (column + width > (last ? MaxLine : MaxLine - 1))
                {
                    encoded.Append("=\r\n");
                    column = 0;
                }
                if (literal)
                    encoded.Append((char)value);
                else
                    encoded.Append('=').Append(value.ToString("X2"));
                column += width;
            }
            encoded.Append("\r\n");
        }
        return encoded.ToString();
    }

    private static bool IsPlain(string value) => !value.AsSpan().ContainsAnyExceptInRange(' ', '~') && !value.Contains("=?");

    private static string EncodedWords(string value, int column)
    {
        const string Start = "=?utf-8?B?";
        const string End = "?=";
        var words = new StringBuilder();
        var word = new List<byte>();
        Span<byte> utf8 = stackalloc byte[4];
        foreach (var rune in value.EnumerateRunes())
        {
            var length = rune.EncodeToUtf8(utf8);
            var room = Math.Min(MaxEncodedWord, MaxLine - column) - Start.Length - End.Length;
            if ((word.Count + length + 2) / 3 * 4 > room)
            {
                Flush();
                words.Append("\r\n ");
                column = 1;
            }
            word.AddRange(utf8[..length]);
        }
        Flush();
        return words.ToString();

        void Flush()
        {
            if (word.Count > 0)
                words.Append(Start).Append(Convert.ToBase64String(word.ToArray())).Append(End);
            word.Clear();
        }
    }
}
