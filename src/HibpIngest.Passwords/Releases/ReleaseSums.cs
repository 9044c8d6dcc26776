using System.Runtime.CompilerServices;

namespace HibpIngest.Passwords.Releases;

/// <summary>Sums the rows of a part, group by group; for a command that has the process to itself.</summary>
internal static class ReleaseSums
{
    // Several at a time: back ends that read each range by itself spend most of the time waiting.
    private const int MaxConcurrency = 4;

    // Ranges arrive in arrays of megabytes. Unforced, the garbage collector lets hundreds of them accumulate: it goes by the machine's
    // memory, not by the import's limit.
    private const long CollectEveryBytes = 64 << 20;

    private static long _read;

    public static async IAsyncEnumerable<(int Group, RowSum Sum)> ReadAsync(
        IRangeSource source, HashMode mode, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        foreach (var some in Enumerable.Range(0, PasswordNames.Groups).Chunk(MaxConcurrency))
        {
            var sums = await Task.WhenAll(
                some.Select(group => Task.Run(
                    () => SumAsync(source.ReadGroupAsync(group, cancellationToken), mode, collects: true), cancellationToken)));
            for (var i = 0; i < some.Length; i++)
                yield return (some[i], sums[i]);
        }
    }

    /// <summary>Sums ranges without forced collections, because other work runs in the process.</summary>
    public static Task<RowSum> SumAsync(IAsyncEnumerable<(int Prefix, RangeContent Content)> ranges, HashMode mode) =>
        SumAsync(ranges, mode, collects: false);

    private static async Task<RowSum> SumAsync(IAsyncEnumerable<(int Prefix, RangeContent Content)> ranges, HashMode mode, bool collects)
    {
        var (sum, rows) = (new RowSum(), new List<HashCount>());
        await foreach (var (prefix, content) in ranges)
        {
            var read = Interlocked.Add(ref _read, content.Stored.Bytes.Length);
            if (collects && read / CollectEveryBytes != (read - content.Stored.Bytes.Length) / CollectEveryBytes)
                GC.Collect();
            sum.Add(mode, prefix, content, rows);
        }
        return sum;
    }
}

internal static class WrittenPart
{
    /// <summary>Writes the index or list of ranges, and verifies everything by reading it back.</summary>
    public static async Task<ReleasePart> CompleteAsync(
        PasswordStores stores, IRangeTarget target, ReleaseKey release, HashMode mode, GroupRecord[] groups, string? source,
        StepProgress progress, TimeProvider time, CancellationToken cancellationToken)
    {
        var etag = await target.CompleteAsync(groups, cancellationToken);
        var total = groups.Aggregate(new RowSum(), (sum, group) => sum + group.Total);
        var part = new ReleasePart(target.Backend, mode, total.Rows, total.Text, etag, time.GetUtcNow()) { Source = source };
        var written = await ReleaseReader.OpenAsync(stores, release, part, cancellationToken);
        await foreach (var (group, sum) in ReleaseSums.ReadAsync(written, mode, cancellationToken))
        {
            if (sum != groups[group].Total)
            {
                throw new StoreMismatchException($"release {release.Name}, read back from {target.Backend.Name()}, differs from what "
                    + $"was written: found {sum.Rows} hashes in ranges {group:X2}000 to {group:X2}FFF, expected {groups[group].Rows}; it "
                    + "is not served");
            }
            progress.Add(ImportStepKind.Verify, sum.Rows);
        }
        return part;
    }
}
