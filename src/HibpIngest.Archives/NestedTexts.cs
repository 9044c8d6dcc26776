namespace HibpIngest.Archives;

/// <summary>Returns the texts of an entry: itself, or those within it if it is an archive by its magic number.</summary>
internal sealed class NestedTexts(string? password, InflationMeter meter, bool opensTars)
{
    private const int ScratchBytes = 1 << 14;

    private readonly byte[] _scratch = new byte[ScratchBytes];

    /// <summary>Returns the texts in order; reads the rest of the content when the enumeration moves on, and disposes it.</summary>
    /// <param name="depth">Number of enclosing archives, without the outer one.</param>
    public IEnumerable<ArchiveText> Open(ArchivePosition topLevel, EntryContent content, int depth = 0)
    {
        using (content)
        {
            if (EntriesOf(content, depth + 1) is { } entries)
            {
                foreach (var text in entries.SelectMany(entry => Open(topLevel, entry, depth + 1)))
                    yield return text;
            }
            else
            {
                yield return new ArchiveText(topLevel, content);
            }
            content.Drain(_scratch);
        }
    }

    /// <returns>Null if the content is no archive that is opened.</returns>
    private IEnumerable<EntryContent>? EntriesOf(EntryContent content, int depth)
    {
        switch (content.PeekMagic())
        {
            case []:
                return [];
            case [(byte)'P', (byte)'K', 3, 4] or [(byte)'P', (byte)'K', 5, 6]:
                meter.CheckNesting(depth, content.Entry);
                return EntriesOfZip(content);
            case [0x1F, 0x8B, 8, ..]:
                meter.CheckNesting(depth, content.Entry);
                meter.CountEntry(content.Entry);
                return [EntryContent.Gunzip(content, content.Entry, meter)];
            default:
                if (!opensTars || !TarHeader.Matches(content.Peek(TarHeader.BlockBytes), needsMagic: true))
                    return null;
                meter.CheckNesting(depth, content.Entry);
                return EntriesOfTar(content);
        }
    }

    private IEnumerable<EntryContent> EntriesOfZip(EntryContent content)
    {
        using var zip = new NestedZip(content, password, meter);
        while (zip.Next() is { } entry)
            yield return entry;
    }

    private IEnumerable<EntryContent> EntriesOfTar(EntryContent content)
    {
        var tar = new TarEntries(content, content.Entry);
        while (tar.Next() is { } member)
        {
            var entry = content.Entry.Nested(member.Name);
            meter.CountEntry(entry);
            if (member.HasText)
                yield return tar.Open(entry, meter: null);
        }
    }
}
