namespace HibpIngest.Archives;

/// <summary>Reads a gzip file outside an archive in the same way as nested ones: all members, each checked.</summary>
public static class GzipFile
{
    public static bool Matches(ReadOnlySpan<byte> head) => head is [0x1F, 0x8B, 8, ..];

    /// <summary>Returns the decompressed content, forward only and read synchronously.</summary>
    /// <param name="source">Not disposed.</param>
    /// <param name="bytes">Size of the file, for the limit of the ratio; <see cref="long.MaxValue"/>: unknown.</param>
    /// <returns>
    /// A stream that throws <see cref="BadArchiveException"/> if the file is damaged, truncated or past a limit, and the exceptions of
    /// <paramref name="source"/>.
    /// </returns>
    public static Stream Open(Stream source, long bytes, string name, ArchiveLimits limits)
    {
        var entry = EntryName.File(name);
        var meter = new InflationMeter(limits, bytes);
        var gauge = new IdleGauge(meter, entry);
        return new EntryContent(
            entry, new GzipDecoder(source, gauge), meter, gauge, null, static (_, _) => { }, maybePassword: false);
    }
}
