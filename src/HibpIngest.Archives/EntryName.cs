using System.Buffers;

namespace HibpIngest.Archives;

/// <summary>An entry's name in messages. Names are untrusted: stealer logs are named by their victims' addresses.</summary>
/// <param name="ordinal">Number of the entry. Negative for a file without entries.</param>
/// <param name="entries">Number of entries. 0 if unknown, as in a tar.</param>
internal sealed class EntryName(int ordinal, int entries, string path)
{
    public const int MaxPath = 200;

    private const string Redacted = "[address]";
    private const string Elision = "...";

    // Characters that end an address within a name. Redacts rather too much than too little.
    private static readonly SearchValues<char> Separators = SearchValues.Create("/\\\"<>()[]{}|,;: ");

    public string Path => path;

    /// <param name="name">As in the header, in any encoding.</param>
    public static EntryName TopLevel(int ordinal, int entries, ReadOnlySpan<byte> name) => new(ordinal, entries, Shorten(Clean(name)));

    /// <param name="name">The trusted name of a file that is read as a whole.</param>
    public static EntryName File(string name) => new(-1, 0, name);

    public EntryName Nested(ReadOnlySpan<byte> name) => new(ordinal, entries, Shorten($"{Path}/{Clean(name)}"));

    public override string ToString() => ordinal < 0 ? $"'{Path}'"
        : entries == 0 ? $"entry {ordinal + 1} '{Path}'" : $"entry {ordinal + 1} of {entries} '{Path}'";

    private static string Clean(ReadOnlySpan<byte> name)
    {
        // The UTF-8 flag is unreliable in both directions, so the bytes decide.
        string text;
        try
        {
            text = StrictUtf8.GetString(name);
        }
        catch (ArgumentException)
        {
            text = Encoding.Latin1.GetString(name);
        }
        return Redact(NameText.Clean(text));
    }

    private static readonly UTF8Encoding StrictUtf8 = new(encoderShouldEmitUTF8Identifier: false, throwOnInvalidBytes: true);

    private static string Redact(string text)
    {
        if (!text.Contains('@'))
            return text;
        var result = new StringBuilder(text.Length);
        var done = 0;
        for (var at = text.IndexOf('@'); at >= 0; at = done < text.Length ? text.IndexOf('@', done) : -1)
        {
            var start = at;
            while (start > done && text[start - 1] == ' ')
                start--;
            while (start > done && !Separators.Contains(text[start - 1]))
                start--;
            var end = at + 1;
            while (end < text.Length && text[end] == ' ')
                end++;
            while (end < text.Length && !Separators.Contains(text[end]))
                end++;
            result.Append(text, done, start - done).Append(Redacted);
            done = end;
        }
        return result.Append(text, done, text.Length - done).ToString();
    }

    private static string Shorten(string text)
    {
        if (text.Length <= MaxPath)
            return text;
        // The tail gets most of the room, since it holds the innermost name.
        var head = MaxPath / 4;
        var tail = text.Length - (MaxPath - head - Elision.Length);
        if (char.IsHighSurrogate(text[head - 1]))
            head--;
        if (char.IsLowSurrogate(text[tail]))
            tail++;
        return string.Concat(text.AsSpan(0, head), Elision, text.AsSpan(tail));
    }
}
