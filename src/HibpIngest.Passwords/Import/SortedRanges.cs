using Microsoft.Win32.SafeHandles;

namespace HibpIngest.Passwords.Import;

/// <summary>
/// The hashes of one mode that an import has read: sorted, distinct with the sum of their counts, range by range. They are stored unsorted
/// in buckets of 256 ranges (<see cref="PrefixesOfBucket"/>) and sorted on each read, so that any part can be read again, also after a
/// restart and by several readers at once.
/// </summary>
public sealed class SortedRanges
{
    /// <summary>The number of buckets; the prefixes of a bucket share three hex digits.</summary>
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

    /// <summary>Returns the number of rows before duplicates are summed.</summary>
    public long Rows(int firstBucket, int buckets)
    {
        CheckBuckets(firstBucket, buckets);
        var rows = 0L;
        for (var bucket = firstBucket; bucket < firstBucket + buckets; bucket++)
            rows += _directory[_firstOfMode + bucket].Rows;
        return rows;
    }

    /// <summary>
    /// Passes on every range of some buckets that has hashes, in the order of the prefixes. The next buckets are sorted on other threads
    /// meanwhile, as far as memory allows.
    /// </summary>
    /// <param name="each">Receives a prefix and its hashes: sorted, distinct, with counts above 0, valid until it returns.</param>
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
                    // A reader that holds a slot never waits for another, so that concurrent readers can't deadlock.
                    var slot = ahead.Count == 0 ? await _slots.ClaimAsync(token) : _slots.TryTake();
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

    /// <summary>Returns the first range of some sorted hashes, and the number of its hashes.</summary>
    internal static (int Prefix, int Rows) FirstRange(ReadOnlySpan<HashCount> rows)
    {
        var prefix = rows[0].Prefix;
        var count = 1;
        while (count < rows.Length && rows[count].Prefix == prefix)
            count++;
        return (prefix, count);
    }

    /// <returns>The number of distinct hashes, at the slot's front.</returns>
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
            // The bucket is larger than the slot. If summing duplicates leaves less than a quarter of the slot free, each further round
            // would sort more to read less.
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
