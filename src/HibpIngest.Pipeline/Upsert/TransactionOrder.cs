namespace HibpIngest.Pipeline;

/// <summary>
/// An order of transactions in which those of one partition lie evenly in the whole, and those of each table too: in the
/// order of domains, all that are in flight would meet one partition. The k-th of a partition's n comes at (k + p) / n of
/// the way, and p differs from partition to partition.
/// </summary>
/// <param name="capacity">Transactions that there is room for at first.</param>
internal sealed class TransactionOrder(int capacity)
{
    /// <summary>Most transactions of one order.</summary>
    public const int MostTransactions = 1 << IndexBits;

    private const uint GoldenRatio = 2654435769; // of 2^32: multiples of it lie evenly between 0 and 2^32, however many there are
    private const int IndexBits = 24;

    private ulong[] _sequence = new ulong[capacity];
    private int _count;

    /// <summary>The number of the transaction whose turn it is.</summary>
    public int this[int index] => (int)(_sequence[index] & (MostTransactions - 1));

    /// <param name="count">Transactions that will be placed.</param>
    public void Begin(int count)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThan(count, MostTransactions);
        if (_sequence.Length < count)
            _sequence = new ulong[count];
        _count = count;
    }

    /// <summary>Places those of one partition.</summary>
    public void Place(int start, int end, uint partition)
    {
        var phase = unchecked(partition * GoldenRatio);
        for (var i = start; i < end; i++)
            _sequence[i] = (((((ulong)(i - start) << 32) | phase) / (ulong)(end - start)) << IndexBits) | (uint)i;
    }

    /// <summary>Once all are placed.</summary>
    public void End() => _sequence.AsSpan(0, _count).Sort();
}
