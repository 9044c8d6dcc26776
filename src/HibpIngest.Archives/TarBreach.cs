namespace HibpIngest.Archives;

/// <summary>To resume, a plain tar is skipped from header to header, a gzipped one must be inflated.</summary>
internal sealed class TarBreach(Stream file, EntryName name, bool isGzipped, InflationMeter meter, NestedTexts nested) : BreachFile
{
    private int _entry;

    public override ArchivePosition Position => new(_entry, meter.InflatedBytes, meter.EntriesOpened, meter.IdleBytes);

    public override IEnumerable<ArchiveText> ReadFrom(ArchivePosition start)
    {
        meter.StartAt(default); // what is inflated to reach the start counts only until then: the start has its own counts
        file.Position = 0;
        using var inflated = isGzipped ? EntryContent.Gunzip(file, name, meter) : null;
        var tar = new TarEntries((Stream?)inflated ?? file, name);
        for (_entry = 0; tar.Next() is { } member; _entry++)
        {
            if (_entry < start.Entry)
                continue;
            if (_entry == start.Entry)
                meter.StartAt(start);
            var position = Position;
            var entry = EntryName.TopLevel(_entry, entries: 0, member.Name); // a tar doesn't say how many it has
            meter.CountEntry(entry);
            if (!member.HasText)
                continue;
            // The bytes of a gzipped tar are counted as it is inflated.
            foreach (var text in nested.Open(position, tar.Open(entry, isGzipped ? null : meter)))
                yield return text;
        }
    }
}
