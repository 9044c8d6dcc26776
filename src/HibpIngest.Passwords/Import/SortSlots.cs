using System.Collections.Concurrent;

namespace HibpIngest.Passwords.Import;

/// <summary>
/// The memory that buckets are sorted in: a fixed number of equal arrays, allocated when first needed. A bucket that is larger than one of
/// them is read in pieces.
/// </summary>
internal sealed class SortSlots : IDisposable
{
    // With fewer, a processor would idle while sorted rows are consumed.
    private const int LeastSlots = 2;

    private readonly ConcurrentBag<HashCount[]> _free = [];
    private readonly SemaphoreSlim _available;

    public SortSlots(int slots, int rows)
    {
        Rows = rows;
        Slots = slots;
        _available = new SemaphoreSlim(slots);
    }

    public int Rows { get; }

    public int Slots { get; }

    /// <summary>Allocates as many slots for the largest bucket as are useful and fit into the memory.</summary>
    public static SortSlots For(long mostRowsOfBucket, long bytes)
    {
        var all = bytes / ChunkPlace.RowBytes;
        var slots = Math.Clamp(all / Math.Max(1, mostRowsOfBucket), LeastSlots, Math.Max(LeastSlots, 2 * Environment.ProcessorCount));
        return new SortSlots((int)slots, (int)Math.Clamp(Math.Min(mostRowsOfBucket, all / slots), 1, Array.MaxLength));
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
