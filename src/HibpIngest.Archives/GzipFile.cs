using HibpIngest.Breaches;

namespace HibpIngest.Archives;

/// <summary>A gzip file that lies in no zip, read as those within one are: all of its members, each checked.</summary>
public static class GzipFile
{
    public static bool Matches(ReadOnlySpan<byte> head) => head is [0x1F, 0x8B, 8, ..];

    /// <summary>What it inflates to, forward only and read synchronously.</summary>
    /// <param name="source">Stays open.</param>
    /// <param name="bytes">Of the file, for the limit of the ratio; <see cref="long.MaxValue"/> where that isn't known.</param>
    /// <returns>Throws <see cref="BadArchiveException"/> where the file is damaged, cut off or past a limit, and whatever
    /// <paramref name="source"/> throws.</returns>
    public static Stream Open(Stream source, long bytes, string name, ArchiveLimits limits)
    {
        var entry = EntryName.File(name);
        var meter = new InflationMeter(limits, bytes);
        var gauge = new IdleGauge(meter, entry);
        return new EntryContent(
            entry, new GzipDecoder(source, gauge), meter, gauge, null, static (_, _) => { }, maybePassword: false);
    }
}
