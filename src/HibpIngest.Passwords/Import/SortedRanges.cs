using System.Collections.Concurrent;
using Microsoft.Win32.SafeHandles;

namespace HibpIngest.Passwords.Import;

/// <summary>
/// The distinct hashes of one mode, in order. They are stored unsorted in buckets of 256 ranges and sorted on each read, so that any part
/// can be read again, also after a restart and by several readers at once.
/// </summary>
/// <param name="firstOfMode">The mode's first bucket in the directory.</param>
internal sealed class SortedRanges(SafeFileHandle spool, long spoolLength, SpoolDirectory directory, int firstOfMode, SortSlots slots)
{
    public const int Buckets = HashSpool.Buckets;
    public const int PrefixesPerBucket = HashSpool.PrefixesPerBucket;

    // Duplicates count each time.
    public long Rows(int firstBucket, int buckets) =>
        Enumerable.Range(firstOfMode + firstBucket, buckets).Sum(bucket => directory[bucket].Rows);

    /// <summary>Passes on every range of some buckets, in order, while the next buckets are sorted on other threads.</summary>
    /// <param name="each">Receives a prefix and its hashes: sorted, distinct, with counts above 0, valid until it returns.</param>
    public async Task ReadAsync(
        int firstBucket, int buckets, Func<int, ReadOnlyMemory<HashCount>, CancellationToken, ValueTask> each, CancellationToken token)
    {
        using var stop = CancellationTokenSource.CreateLinkedTokenSource(token);
        var ahead = new Queue<(HashCount[] Slot, Task<int> Rows)>();
        var (next, end) = (firstBucket, firstBucket + buckets);
        try
        {
            while (true)
            {
                while (next < end && ahead.Count <= Environment.ProcessorCount)
                {
                    if (directory[firstOfMode + next].Rows == 0)
                    {
                        next++;
                        continue;
                    }
                    // A reader that holds a slot never waits for another, so that concurrent readers can't deadlock.
                    var slot = ahead.Count == 0 ? await slots.ClaimAsync(token) : slots.TryTake();
                    if (slot is null)
                        break;
                    var bucket = next++;
                    ahead.Enqueue((slot, Task.Run(() => Sort(bucket, slot, stop.Token), CancellationToken.None)));
                }
                if (!ahead.TryPeek(out var first))
                    return;
                await HandOutAsync(first.Slot.AsMemory(0, await first.Rows), each, token);
                slots.Return(ahead.Dequeue().Slot);
            }
        }
        finally
        {
            await stop.CancelAsync();
            foreach (var left in ahead)
            {
                await left.Rows.ContinueWith(static _ => { }, CancellationToken.None, TaskContinuationOptions.ExecuteSynchronously,
                    TaskScheduler.Default);
                slots.Return(left.Slot);
            }
        }
    }

    private static async Task HandOutAsync(
        ReadOnlyMemory<HashCount> rows, Func<int, ReadOnlyMemory<HashCount>, CancellationToken, ValueTask> each, CancellationToken token)
    {
        while (!rows.IsEmpty)
        {
            token.ThrowIfCancellationRequested();
            var (prefix, count) = FirstRange(rows.Span);
            await each(prefix, rows[..count], token);
            rows = rows[count..];
        }
    }

    internal static (int Prefix, int Rows) FirstRange(ReadOnlySpan<HashCount> rows)
    {
        var prefix = rows[0].Prefix;
        var count = 1;
        while (count < rows.Length && rows[count].Prefix == prefix)
            count++;
        return (prefix, count);
    }

    private int Sort(int bucket, HashCount[] slot, CancellationToken token)
    {
        var reader = new BucketReader(spool, spoolLength, firstOfMode + bucket, directory[firstOfMode + bucket]);
        var filled = 0;
        while (true)
        {
            filled += reader.Read(slot.AsSpan(filled), token);
            filled = HashSort.SortAndSum(slot.AsSpan(0, filled));
            if (reader.Left == 0)
                return filled;
            // The bucket is larger than the slot. If summing duplicates leaves less than a quarter of the slot free, each further round
            // would sort more to read less.
            if (reader.Left > slot.Length - filled && filled > slot.Length / 4 * 3)
            {
                throw new BadInputException(
                    $"expected at most {slot.Length:N0} different hashes, for which there is memory, in ranges "
                    + $"{HashModes.PrefixText(bucket * PrefixesPerBucket)} to "
                    + $"{HashModes.PrefixText(((bucket + 1) * PrefixesPerBucket) - 1)}, found more; give the import more memory "
                    + "(--memory)");
            }
        }
    }
}

/// <summary>Equal arrays that buckets are sorted in, allocated when first needed; a larger bucket is read in pieces.</summary>
internal sealed class SortSlots(int slots, int rows) : IDisposable
{
    // With fewer slots, a processor would idle while sorted rows are consumed.
    private const int MinSlots = 2;

    private readonly ConcurrentBag<HashCount[]> _free = [];
    private readonly SemaphoreSlim _available = new(slots);

    public int Rows => rows;

    public int Slots => slots;

    public static SortSlots For(long maxRowsOfBucket, long bytes)
    {
        var all = bytes / ChunkPlace.RowBytes;
        var slots = Math.Clamp(all / Math.Max(1, maxRowsOfBucket), MinSlots, Math.Max(MinSlots, 2 * Environment.ProcessorCount));
        return new SortSlots((int)slots, (int)Math.Clamp(Math.Min(maxRowsOfBucket, all / slots), 1, Array.MaxLength));
    }

    public async ValueTask<HashCount[]> ClaimAsync(CancellationToken token)
    {
        await _available.WaitAsync(token);
        return TakeFree();
    }

    public HashCount[]? TryTake() => _available.Wait(0) ? TakeFree() : null;

    public void Return(HashCount[] slot)
    {
        _free.Add(slot);
        _available.Release();
    }

    public void Dispose() => _available.Dispose();

    private HashCount[] TakeFree() => _free.TryTake(out var slot) ? slot : GC.AllocateUninitializedArray<HashCount>(Rows);
}
