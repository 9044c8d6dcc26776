using System.Buffers;
using System.Text;

namespace HibpIngest.Archives;

/// <summary>What messages call an entry. Names come from strangers: stealer logs are named by their victims' addresses.</summary>
internal sealed class EntryName
{
    /// <summary>Most characters of a path that is shown.</summary>
    public const int MaxPath = 200;

    private const string Redacted = "[address]";
    private const string Elision = "...";

    // What ends an address within a name. Rather too much is taken for the address than too little.
    private static readonly SearchValues<char> Separators = SearchValues.Create("/\\\"<>()[]{}|,;: ");

    private readonly int _ordinal; // negative: a file that has no entries
    private readonly int _entries; // none: as many as a tar turns out to have

    private EntryName(int ordinal, int entries, string path)
    {
        _ordinal = ordinal;
        _entries = entries;
        Path = path;
    }

    public string Path { get; }

    /// <param name="ordinal">0-based; shown as people count, from 1.</param>
    /// <param name="entries">Entries of the central directory; 0 where there is none.</param>
    /// <param name="name">As it is in the header, in whatever encoding.</param>
    public static EntryName TopLevel(int ordinal, int entries, ReadOnlySpan<byte> name) => new(ordinal, entries, Shorten(Clean(name)));

    /// <param name="name">Of a file that is read as a whole, as its owner names it.</param>
    public static EntryName File(string name) => new(-1, 0, name);

    public EntryName Nested(ReadOnlySpan<byte> name) => new(_ordinal, _entries, Shorten($"{Path}/{Clean(name)}"));

    public override string ToString() => _ordinal < 0 ? $"'{Path}'"
        : _entries == 0 ? $"entry {_ordinal + 1} '{Path}'" : $"entry {_ordinal + 1} of {_entries} '{Path}'";

    private static string Clean(ReadOnlySpan<byte> name)
    {
        // The UTF-8 flag is set where it isn't true and missing where it is: the bytes know better.
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

    private static string Shorten(string path)
    {
        if (path.Length <= MaxPath)
            return path;
        // The tail says most: the innermost name.
        var head = MaxPath / 4;
        var tail = path.Length - (MaxPath - head - Elision.Length);
        if (char.IsHighSurrogate(path[head - 1]))
            head--;
        if (char.IsLowSurrogate(path[tail]))
            tail++;
        return string.Concat(path.AsSpan(0, head), Elision, path.AsSpan(tail));
    }
}
