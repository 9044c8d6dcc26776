namespace HibpIngest.Archives;

/// <summary>
/// Checks, from the directory alone, that no two entries share bytes: overlaps make a small archive as expensive as a large one, even if no
/// limit counts any output.
/// </summary>
/// <remarks>
/// The directory is streamed. If each entry begins after the end of the previous one, as nearly all writers order them, none overlap. A
/// directory in another order is read again and its extents are sorted: 20 bytes an entry, for at most <see cref="MaxHeld"/> entries. If
/// there are more, only the sum of their lengths is checked: any overlap that passes costs no more than reading the archive once. An entry
/// is assumed to have neither name nor extra field, whose lengths only the local header holds, so separate entries are never refused.
/// </remarks>
internal static class EntryExtents
{
    /// <summary>Maximum number of entries whose extents are held and sorted: 20 MiB.</summary>
    public const int MaxHeld = 1 << 20;

    public static void Check(CentralDirectory directory, int maxHeld = MaxHeld)
    {
        long sum = 0;
        (int Entry, long Start, long End) before = default;
        var inOrder = true;
        directory.Rewind();
        for (var entry = 0; entry < directory.Entries; entry++)
        {
            if (Find(directory) is not { } extent)
                continue;
            var (start, end) = extent;
            if (start < before.End && before.Start < end)
                throw Overlap(before.Entry, entry, directory.Entries);
            sum += end - start;
            if (sum > directory.Start)
            {
                throw new BadArchiveException(
                    $"{entry + 1:N0} of {directory.Entries:N0} entries have more bytes than the archive, so that some overlap: {Advice}");
            }
            inOrder &= start >= before.End;
            before = (entry, start, end);
        }
        directory.CheckEnd();
        if (!inOrder && directory.Entries <= maxHeld)
            CheckSorted(directory);
    }

    public static BadArchiveException Overlap(int one, int other, int entries) =>
        new($"entries {Math.Min(one, other) + 1:N0} and {Math.Max(one, other) + 1:N0} of {entries:N0} overlap: {Advice}");

    private const string Advice = "a zip bomb, or the archive is damaged: drop an intact copy, or unpack it and zip its files again";

    private static void CheckSorted(CentralDirectory directory)
    {
        var starts = new long[directory.Entries];
        var ends = new long[directory.Entries];
        var ordinals = new int[directory.Entries];
        var count = 0;
        directory.Rewind();
        for (var entry = 0; entry < directory.Entries; entry++)
        {
            if (Find(directory) is not { } extent)
                continue;
            (starts[count], ends[entry], ordinals[count]) = (extent.Start, extent.End, entry);
            count++;
        }
        Array.Sort(starts, ordinals, 0, count);
        for (var i = 1; i < count; i++)
        {
            if (starts[i] < ends[ordinals[i - 1]])
                throw Overlap(ordinals[i - 1], ordinals[i], directory.Entries);
        }
    }

    /// <returns>Null if the entry is empty and not read, or outside the file and refused when it is read.</returns>
    private static (long Start, long End)? Find(CentralDirectory directory)
    {
        var central = ZipHeader.ParseCentral(directory.Next());
        if (central.IsEmpty)
            return null;
        // The numbers are untrusted: their sum may overflow.
        var start = (Int128)central.LocalHeaderOffset + directory.Shift;
        var end = start + ZipHeader.LocalBytes + central.CompressedBytes;
        return start >= 0 && central.CompressedBytes >= 0 && end <= directory.Start ? ((long)start, (long)end) : null;
    }
}
