namespace HibpIngest.Pipeline.Upsert;

/// <summary>
/// An order in which the transactions of each partition, and of each table, are spread evenly over the whole: in the order of domains, all
/// transactions in flight would go to one partition. The k-th of a partition's n comes at (k + p) / n of the way, and p differs from
/// partition to partition.
/// </summary>
internal sealed class TransactionOrder(int capacity)
{
    public const int MaxTransactions = 1 << IndexBits;

    private const uint GoldenRatio = 2654435769; // times 2^32: its multiples are spread evenly over 0 to 2^32, however many there are
    private const int IndexBits = 24;

    private ulong[] _sequence = new ulong[capacity];
    private int _count;

    public int this[int index] => (int)(_sequence[index] & (MaxTransactions - 1));

    public void Begin(int count)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThan(count, MaxTransactions);
        if (_sequence.Length < count)
            _sequence = new ulong[count];
        _count = count;
    }

    public void Place(int start, int end, uint partition)
    {
        var phase = unchecked(partition * GoldenRatio);
        for (var i = start; i < end; i++)
            _sequence[i] = (((((ulong)(i - start) << 32) | phase) / (ulong)(end - start)) << IndexBits) | (uint)i;
    }

    /// <summary>Must be called after all transactions are placed.</summary>
    public void End() => _sequence.AsSpan(0, _count).Sort();
}
