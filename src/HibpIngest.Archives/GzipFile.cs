namespace HibpIngest.Archives;

public static class GzipFile
{
    public static bool Matches(ReadOnlySpan<byte> head) => head is [0x1F, 0x8B, 8, ..];

    /// <summary>Returns the decompressed content of all members, forward only and read synchronously.</summary>
    /// <param name="source">Not disposed.</param>
    /// <param name="bytes">Size of the file, for the limit of the ratio; <see cref="long.MaxValue"/>: unknown.</param>
    /// <returns>A stream that throws <see cref="BadArchiveException"/>, and the exceptions of <paramref name="source"/>.</returns>
    public static Stream Open(Stream source, long bytes, string name, ArchiveLimits limits) =>
        EntryContent.Gunzip(source, EntryName.File(name), new InflationMeter(limits, bytes));
}

/// <summary>A gzip breach file: one entry, read forward; its content is opened if it is an archive.</summary>
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
