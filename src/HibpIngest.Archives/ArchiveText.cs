using HibpIngest.Breaches;

namespace HibpIngest.Archives;

/// <summary>One text of a dropped file: an entry that is no archive itself, at whatever depth, or a part of a text.</summary>
public sealed class ArchiveText
{
    internal ArchiveText(ArchivePosition topLevel, EntryContent content)
    {
        TopLevel = topLevel;
        Content = content;
    }

    /// <summary>
    /// The top-level entry it lies in, with the counts before that entry was opened: reading from here yields
    /// it again.
    /// </summary>
    public ArchivePosition TopLevel { get; }

    /// <summary>
    /// Its path for messages, such as "dump.zip/users.csv": no address, no control character, at most 200
    /// characters; never to be used as a path.
    /// </summary>
    public string DisplayName => ((EntryContent)Content).Entry.Path;

    /// <summary>
    /// The text, forward only, until the enumeration moves on. Reading it to its end checks size and CRC-32;
    /// what is left of it when the enumeration moves on is read and checked then. Throws
    /// <see cref="BadArchiveException"/>, and whatever the archive's stream throws.
    /// </summary>
    public Stream Content { get; }
}
