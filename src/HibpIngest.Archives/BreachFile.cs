namespace HibpIngest.Archives;

/// <summary>
/// A breach file, read text by text, in the format that its name says (<see cref="BreachFiles"/>). Every format has top-level entries, from
/// which reading can resume: a zip's and a tar's are their own, a text's are parts of it that end with a line, a gzip file is one.
/// </summary>
public abstract class BreachFile : IDisposable
{
    /// <summary>Bytes of a file's beginning that show whether it has the format that its name says.</summary>
    public const int HeadBytes = TarHeader.BlockBytes;

    private protected BreachFile()
    {
    }

    /// <summary>The top-level entry being read (at the end: the number of entries), with the current counts.</summary>
    public abstract ArchivePosition Position { get; }

    /// <param name="file">Seekable; read synchronously, best on its own thread; not disposed.</param>
    /// <param name="password">For encrypted entries of a zip; null or empty: none.</param>
    /// <param name="opensTars">True if nested tars are opened; otherwise they are read as text.</param>
    /// <exception cref="BadInputException">Another format than the name says, or past a limit by its own headers.</exception>
    public static BreachFile Open(Stream file, string name, string? password, ArchiveLimits limits, bool opensTars)
    {
        var format = FormatOf(name);
        if (format == BreachFormat.Zip)
            return BreachArchive.Open(file, password, limits, opensTars);
        var entry = EntryName.File(NameText.Clean(name[(name.LastIndexOf('/') + 1)..]));
        Span<byte> head = stackalloc byte[HeadBytes];
        file.Position = 0;
        CheckHead(head[..file.ReadAtLeast(head, HeadBytes, throwOnEndOfStream: false)], entry, format);
        var meter = new InflationMeter(limits, file.Length);
        return format switch
        {
            BreachFormat.Gzip => new GzipBreach(file, entry, meter, new NestedTexts(null, meter, opensTars)),
            BreachFormat.Text => new TextBreach(file, entry, meter),
            _ => new TarBreach(file, entry, format == BreachFormat.TarGzip, meter, new NestedTexts(null, meter, opensTars)),
        };
    }

    /// <summary>Refuses a file whose beginning doesn't fit its name, before it is uploaded.</summary>
    /// <param name="head">The first <see cref="HeadBytes"/>, or the whole file.</param>
    /// <exception cref="BadInputException">The file has another format, or its name has none.</exception>
    public static void CheckHead(ReadOnlySpan<byte> head, string name) => CheckHead(head, EntryName.File(name), FormatOf(name));

    /// <summary>
    /// Returns every text from a top-level entry on; supports one enumeration at a time. The enumeration and the texts' content throw
    /// <see cref="BadArchiveException"/> and the exceptions of the file's stream.
    /// </summary>
    public abstract IEnumerable<ArchiveText> ReadFrom(ArchivePosition start);

    public virtual void Dispose() => GC.SuppressFinalize(this);

    private static BreachFormat FormatOf(string name) => BreachFiles.FormatOf(name)
        ?? throw new BadInputException($"unsupported file type: the name must end in one of {string.Join(", ", BreachFiles.Endings)}");

    private static void CheckHead(ReadOnlySpan<byte> head, EntryName name, BreachFormat format)
    {
        if (head.IsEmpty)
            throw new BadArchiveException($"{name}: the file is empty (0 bytes); drop it again");
        var expected = format switch
        {
            // A local file header, the end of an empty archive, or the marker of a spanned one.
            BreachFormat.Zip when head is not [(byte)'P', (byte)'K', 3, 4, ..] and not [(byte)'P', (byte)'K', 5, 6, ..]
                and not [(byte)'P', (byte)'K', 7, 8, ..] => "zip archive",
            BreachFormat.Gzip or BreachFormat.TarGzip when !GzipFile.Matches(head) => "gzip file",
            BreachFormat.Tar when !TarHeader.Matches(head, needsMagic: false) => "tar archive",
            BreachFormat.Text when FoundFormat.NameOf(head) is not null => "text",
            _ => null,
        };
        if (expected is not null)
        {
            var found = FoundFormat.NameOf(head) ?? "something else";
            throw new BadArchiveException($"{name} is not a {expected}, as its name says: found {found}; give it the extension of its "
                + "format, or unpack it");
        }
    }
}

internal static class FoundFormat
{
    /// <returns>The format with its article. Null if it is unknown, as for text.</returns>
    public static string? NameOf(ReadOnlySpan<byte> head) => head switch
    {
        [(byte)'P', (byte)'K', 3, 4, ..] => "a zip archive",
        [0x1F, 0x8B, ..] => "a gzip file",
        [0x37, 0x7A, 0xBC, 0xAF, ..] => "a 7z archive",
        [0x52, 0x61, 0x72, 0x21, ..] => "a RAR archive",
        [0x42, 0x5A, 0x68, _, 0x31, 0x41, 0x59, 0x26, ..] => "a bzip2 file",
        [0x28, 0xB5, 0x2F, 0xFD, ..] => "a Zstandard file",
        [0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00, ..] => "an xz file",
        _ => TarHeader.Matches(head, needsMagic: true) ? "a tar archive" : null,
    };
}

/// <summary>One text of a breach file: an entry at any depth that is no archive itself, or a part of a text file.</summary>
public sealed class ArchiveText
{
    internal ArchiveText(ArchivePosition topLevel, EntryContent content)
    {
        TopLevel = topLevel;
        Content = content;
    }

    /// <summary>Its top-level entry, with the counts before that entry was opened: reading from here yields the text again.</summary>
    public ArchivePosition TopLevel { get; }

    /// <summary>Its path for messages, such as "dump.zip/users.csv": no address, no control character, at most 200 characters.</summary>
    public string DisplayName => ((EntryContent)Content).Entry.Path;

    /// <summary>The text, forward only, until the enumeration moves on. Size and CRC-32 are checked at its end.</summary>
    public Stream Content { get; }
}
