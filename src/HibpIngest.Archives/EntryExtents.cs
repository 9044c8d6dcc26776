namespace HibpIngest.Archives;

/// <summary>
/// Sees to it, from the directory alone, that no two entries share bytes. Many entries over one stream, or one
/// within another's data, make a small archive cost what a large one does, and nothing need come out of them
/// that a limit would count. Where entries lie apart, reading all of them reads the archive once.
/// </summary>
/// <remarks>
/// The directory is streamed, not held. Where each entry begins behind the end of the one before it, which is
/// how nearly all writers leave it, none overlaps and that is that. A directory in another order is gone
/// through again, and where its entries begin and end is sorted: 20 bytes each, for at most
/// <see cref="MostHeld"/>, which is more than the default limit lets in. Of more than these, out of order, only
/// the sum is looked at: entries that lie apart are no longer than the archive, so whatever overlap that lets
/// through can't cost more than reading the archive once. An entry begins with its local header and is taken to
/// end as if that had neither name nor extra field, whose lengths only the local header tells. It is never
/// taken to be longer than it is, so entries that lie apart are never refused.
/// </remarks>
internal static class EntryExtents
{
    /// <summary>Most entries whose places are held and sorted: 20 MiB.</summary>
    public const int MostHeld = 1 << 20;

    /// <exception cref="BadArchiveException">Entries overlap, or the directory is damaged.</exception>
    public static void Check(CentralDirectory directory, int mostHeld = MostHeld)
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
        if (!inOrder && directory.Entries <= mostHeld)
            CheckSorted(directory);
    }

    /// <summary>What is said of two entries, given by ordinals from 0.</summary>
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

    /// <summary>
    /// Where the next entry lies; null where it is empty and not read, or not within the file, and refused in
    /// its turn.
    /// </summary>
    private static (long Start, long End)? Find(CentralDirectory directory)
    {
        var central = ZipHeader.ParseCentral(directory.Next());
        if (central.IsEmpty)
            return null;
        // The numbers are a stranger's: they and what is added to them may be anything.
        var start = (Int128)central.LocalHeaderOffset + directory.Shift;
        var end = start + ZipHeader.LocalBytes + central.CompressedBytes;
        return start >= 0 && central.CompressedBytes >= 0 && end <= directory.Start ? ((long)start, (long)end) : null;
    }
}
