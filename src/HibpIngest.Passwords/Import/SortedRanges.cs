using HibpIngest.Errors;
using Microsoft.Win32.SafeHandles;

namespace HibpIngest.Passwords;

/// <summary>
/// The hashes of one mode that an import has read: sorted, each once with the sum of its counts, range by range. They
/// lie unsorted in buckets of 256 ranges (<see cref="PrefixesOfBucket"/>) and are sorted each time they are read, so
/// that any part of them can be read again, also after a restart, and by several at once.
/// </summary>
public sealed class SortedRanges
{
    /// <summary>A bucket holds the ranges whose prefixes share three digits.</summary>
    public const int Buckets = HashSpool.Buckets;

    public const int PrefixesOfBucket = HashSpool.PrefixesOfBucket;

    private readonly SafeFileHandle _spool;
    private readonly long _spoolLength;
    private readonly SpoolDirectory _directory;
    private readonly int _firstOfMode;
    private readonly SortSlots _slots;

    /// <param name="firstOfMode">The mode's first bucket in the directory.</param>
    internal SortedRanges(SafeFileHandle spool, long spoolLength, SpoolDirectory directory, int firstOfMode, SortSlots slots)
    {
        _spool = spool;
        _spoolLength = spoolLength;
        _directory = directory;
        _firstOfMode = firstOfMode;
        _slots = slots;
    }

    /// <summary>Hashes as they were read: the same one as often as it came.</summary>
    public long Rows(int firstBucket, int buckets)
    {
        CheckBuckets(firstBucket, buckets);
        var rows = 0L;
        for (var bucket = firstBucket; bucket < firstBucket + buckets; bucket++)
            rows += _directory[_firstOfMode + bucket].Rows;
        return rows;
    }

    /// <summary>
    /// Hands out every range of some buckets that has hashes, in the order of the prefixes. Buckets ahead are sorted
    /// on other threads meanwhile, as far as there is memory.
    /// </summary>
    /// <param name="each">
    /// Takes a prefix and its hashes: sorted, distinct, each with a count above 0. They are valid until it ends.
    /// </param>
    /// <exception cref="BadInputException">A bucket's distinct hashes don't fit into the memory.</exception>
    /// <exception cref="IOException">The spool can't be read, or is damaged.</exception>
    public async Task ReadAsync(
        int firstBucket, int buckets, Func<int, ReadOnlyMemory<HashCount>, CancellationToken, ValueTask> each, CancellationToken token)
    {
        CheckBuckets(firstBucket, buckets);
        using var stop = CancellationTokenSource.CreateLinkedTokenSource(token);
        var ahead = new Queue<Sorting>();
        var (next, end) = (firstBucket, firstBucket + buckets);
        try
        {
            while (true)
            {
                while (next < end && ahead.Count <= Environment.ProcessorCount)
                {
                    if (_directory[_firstOfMode + next].Rows == 0)
                    {
                        next++;
                        continue;
                    }
                    // Who has a slot never waits for one, so that several who read at once can't wait for one another.
                    var slot = ahead.Count == 0 ? await _slots.TakeAsync(token) : _slots.TryTake();
                    if (slot is null)
                        break;
                    var bucket = next++;
                    ahead.Enqueue(new Sorting(slot, Task.Run(() => Sort(bucket, slot, stop.Token), CancellationToken.None)));
                }
                if (!ahead.TryPeek(out var first))
                    return;
                await HandOutAsync(first.Slot.AsMemory(0, await first.Rows), each, token);
                _slots.Return(ahead.Dequeue().Slot);
            }
        }
        finally
        {
            await stop.CancelAsync();
            foreach (var left in ahead)
            {
                await left.Rows.ContinueWith(static _ => { }, CancellationToken.None, TaskContinuationOptions.ExecuteSynchronously,
                    TaskScheduler.Default);
                _slots.Return(left.Slot);
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

    /// <summary>The range that the first of some sorted hashes is in, and how many of them are.</summary>
    internal static (int Prefix, int Rows) FirstRange(ReadOnlySpan<HashCount> rows)
    {
        var prefix = rows[0].Prefix;
        var count = 1;
        while (count < rows.Length && rows[count].Prefix == prefix)
            count++;
        return (prefix, count);
    }

    /// <returns>Distinct hashes, at the slot's front.</returns>
    private int Sort(int bucket, HashCount[] slot, CancellationToken token)
    {
        var reader = new BucketReader(_spool, _spoolLength, _firstOfMode + bucket, _directory[_firstOfMode + bucket]);
        var filled = 0;
        while (true)
        {
            filled += reader.Read(slot.AsSpan(filled), token);
            filled = SortAndSum(slot.AsSpan(0, filled));
            if (reader.Left == 0)
                return filled;
            // The bucket is larger than the slot. Where duplicates leave less than a quarter of that free, ever more would be
            // sorted for ever less that is read.
            if (reader.Left > slot.Length - filled && filled > slot.Length / 4 * 3)
            {
                throw new BadInputException(
                    $"expected the different hashes of ranges {HashModes.PrefixText(bucket * PrefixesOfBucket)} to "
                    + $"{HashModes.PrefixText(((bucket + 1) * PrefixesOfBucket) - 1)} to fit into the {slot.Length:N0} that there is "
                    + "memory for sorting, found more; give the import more memory (--memory)");
            }
        }
    }

    private static int SortAndSum(Span<HashCount> rows)
    {
        HashSort.Sort(rows);
        return HashSort.Sum(rows);
    }

    private void CheckBuckets(int firstBucket, int buckets)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(firstBucket);
        ArgumentOutOfRangeException.ThrowIfNegative(buckets);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(firstBucket, Buckets - buckets);
    }

    private readonly record struct Sorting(HashCount[] Slot, Task<int> Rows);
}
