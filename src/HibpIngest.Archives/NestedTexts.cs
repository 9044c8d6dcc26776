namespace HibpIngest.Archives;

/// <summary>Returns the texts of an entry: itself, or those within it if it is an archive by its magic number.</summary>
/// <param name="password">For encrypted entries; null or empty: none.</param>
/// <param name="opensTars">Whether tars are opened; otherwise they are read as text.</param>
internal sealed class NestedTexts(string? password, InflationMeter meter, bool opensTars)
{
    private const int ScratchBytes = 1 << 14;

    private readonly byte[] _scratch = new byte[ScratchBytes];

    /// <summary>Returns the texts in order; reads the rest of the content when the enumeration moves on.</summary>
    /// <param name="topLevel">The top-level entry that holds the content.</param>
    /// <param name="depth">Number of enclosing archives, without the outer one.</param>
    public IEnumerable<ArchiveText> Open(ArchivePosition topLevel, EntryContent content, int depth)
    {
        switch (content.PeekMagic())
        {
            case []:
                yield break;
            case [(byte)'P', (byte)'K', 3, 4] or [(byte)'P', (byte)'K', 5, 6]:
                meter.CheckNesting(depth + 1, content.Entry);
                using (var zip = new NestedZip(content, password, meter))
                {
                    while (zip.Next() is { } inner)
                    {
                        using (inner)
                        {
                            foreach (var text in Open(topLevel, inner, depth + 1))
                                yield return text;
                        }
                    }
                }
                break;
            case [0x1F, 0x8B, 8, ..]:
                meter.CheckNesting(depth + 1, content.Entry);
                meter.CountEntry(content.Entry);
                var gauge = new IdleGauge(meter, content.Entry);
                using (var inner = new EntryContent(
                    content.Entry, new GzipDecoder(content, gauge), meter, gauge, null, static (_, _) => { }, maybePassword: false))
                {
                    foreach (var text in Open(topLevel, inner, depth + 1))
                        yield return text;
                }
                break;
            default:
                if (!opensTars || !TarHeader.Matches(content.Peek(TarHeader.BlockBytes), needsMagic: true))
                {
                    yield return new ArchiveText(topLevel, content);
                    break;
                }
                meter.CheckNesting(depth + 1, content.Entry);
                var tar = new TarEntries(content, content.Entry);
                while (tar.Next() is { } member)
                {
                    var entry = content.Entry.Nested(member.Name);
                    meter.CountEntry(entry);
                    if (!member.HasText)
                        continue;
                    using (var inner = tar.Open(entry, meter: null))
                    {
                        foreach (var text in Open(topLevel, inner, depth + 1))
                            yield return text;
                    }
                }
                break;
        }
        content.Drain(_scratch);
    }
}
