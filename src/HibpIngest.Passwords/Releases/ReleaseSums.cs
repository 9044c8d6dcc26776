using System.Runtime.CompilerServices;

namespace HibpIngest.Passwords;

/// <summary>What a part of a release holds, group by group, as it is read: by a command, which has the process to itself.</summary>
internal static class ReleaseSums
{
    // Where each range is a read of its own, it is the reads that take the time.
    private const int AtOnce = 4;

    // What is read comes in arrays of megabytes, which the collector otherwise lets pile up to several hundred of them: it sees the
    // memory of the machine, not what an import is meant to take.
    private const long CollectEveryBytes = 64 << 20;

    private static long _read;

    public static async IAsyncEnumerable<(int Group, RowSum Sum)> ReadAsync(
        IRangeSource source, HashMode mode, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        foreach (var some in Enumerable.Range(0, PasswordNames.Groups).Chunk(AtOnce))
        {
            var sums = await Task.WhenAll(
                some.Select(group => Task.Run(
                    () => SumAsync(source.ReadGroupAsync(group, cancellationToken), mode, collects: true), cancellationToken)));
            for (var i = 0; i < some.Length; i++)
                yield return (some[i], sums[i]);
        }
    }

    /// <summary>Ranges that are read in whatever way, with the memory left to the collector: others work in the process too.</summary>
    public static Task<RowSum> SumAsync(IAsyncEnumerable<(int Prefix, RangeContent Content)> ranges, HashMode mode) =>
        SumAsync(ranges, mode, collects: false);

    private static async Task<RowSum> SumAsync(
        IAsyncEnumerable<(int Prefix, RangeContent Content)> ranges, HashMode mode, bool collects)
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
