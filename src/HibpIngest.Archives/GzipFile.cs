namespace HibpIngest.Archives;

public static class GzipFile
{
    public static bool Matches(ReadOnlySpan<byte> head) => head is [0x1F, 0x8B, 8, ..];

    /// <summary>Opens a forward-only stream of the decompressed content of all members. It supports synchronous reads only.</summary>
    /// <param name="source">Not disposed.</param>
    /// <param name="bytes">
    /// Size of the file, from which the limit on the inflation ratio is computed; <see cref="long.MaxValue"/> if unknown.
    /// </param>
    /// <returns>A stream that throws <see cref="BadArchiveException"/>, and the exceptions of <paramref name="source"/>.</returns>
    public static Stream Open(Stream source, long bytes, string name, ArchiveLimits limits) =>
        EntryContent.Gunzip(source, EntryName.File(name), new InflationMeter(limits, bytes));
}
