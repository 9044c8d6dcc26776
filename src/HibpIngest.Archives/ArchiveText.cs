namespace HibpIngest.Archives;

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

    /// <summary>
    /// Its path for messages, such as "dump.zip/users.csv": no address, no control character, at most 200 characters. Not a usable file
    /// path.
    /// </summary>
    public string DisplayName => ((EntryContent)Content).Entry.Path;

    /// <summary>
    /// The text, forward only, until the enumeration moves on. Reading to the end checks size and CRC-32; the rest is read and checked when
    /// the enumeration moves on. Throws <see cref="BadArchiveException"/>, and the exceptions of the archive's stream.
    /// </summary>
    public Stream Content { get; }
}
