namespace HibpIngest.Archives;

internal sealed class GzipBreach(Stream file, EntryName name, InflationMeter meter, NestedTexts nested) : BreachFile
{
    private int _entry;

    public override ArchivePosition Position => new(_entry, meter.InflatedBytes, meter.EntriesOpened, meter.IdleBytes);

    public override IEnumerable<ArchiveText> ReadFrom(ArchivePosition start)
    {
        meter.StartAt(start);
        _entry = start.Entry;
        if (_entry > 0)
            yield break;
        var position = Position;
        file.Position = 0;
        meter.CountEntry(name);
        foreach (var text in nested.Open(position, EntryContent.Gunzip(file, name, meter)))
            yield return text;
        _entry = 1;
    }
}
