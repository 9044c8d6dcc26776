namespace HibpIngest.Archives;

/// <summary>
/// A tar breach file, plain or gzipped, whose members are its entries. To resume, a plain tar is skipped from header to header, a gzipped
/// one must be inflated up to the first wanted entry.
/// </summary>
internal sealed class TarBreach(Stream file, EntryName name, bool isGzipped, InflationMeter meter, NestedTexts nested) : BreachFile
{
    private int _entry;

    public override ArchivePosition Position => new(_entry, meter.InflatedBytes, meter.EntriesOpened, meter.IdleBytes);

    public override IEnumerable<ArchiveText> ReadFrom(ArchivePosition start)
    {
        meter.StartAt(default);
        file.Position = 0;
        var gauge = new IdleGauge(meter, name);
        using var inflated = isGzipped
            ? new EntryContent(name, new GzipDecoder(file, gauge), meter, gauge, null, static (_, _) => { }, maybePassword: false) : null;
        var tar = new TarEntries((Stream?)inflated ?? file, name);
        for (_entry = 0; tar.Next() is { } member; _entry++)
        {
            if (_entry < start.Entry)
                continue;
            if (_entry == start.Entry)
                meter.StartAt(start);
            var position = Position;
            var entry = EntryName.TopLevel(_entry, 0, member.Name);
            meter.CountEntry(entry);
            if (!member.HasText)
                continue;
            using var content = tar.Open(entry, isGzipped ? null : meter);
            foreach (var text in nested.Open(position, content, depth: 0))
                yield return text;
        }
    }
}
