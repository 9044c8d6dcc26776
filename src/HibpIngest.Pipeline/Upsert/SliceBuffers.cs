using System.Collections.Concurrent;
using System.Text;
using HibpIngest.Accounts;
using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>
/// The rows of one slice and their order by partition, in buffers that are used again from slice to slice.
/// <see cref="Group"/> cuts them into entity group transactions: one domain each, or one partition of hashes,
/// each account once, at most <see cref="IAccountTable.MaxTransactionEntities"/>. Their order is the same
/// whenever the slice is read in the same layouts: it is what progress is counted in.
/// </summary>
internal sealed class SliceBuffers
{
    // As many as one process works on at once under the host's queue settings; more are made when needed and
    // left to the collector.
    private const int KeptAtMost = 32;

    /// <summary>
    /// Of the order of transactions, to be raised by whatever changes it: what is recorded as done in another
    /// counts no more.
    /// </summary>
    public const int OrderVersion = 2;

    private const uint GoldenRatio = 2654435769; // of 2^32: multiples of it lie evenly between 0 and 2^32, however many there are
    private const int IndexBits = 24;

    private const int RangePartitions = 1 << (4 * AccountHash.PartitionDigits);

    private static readonly byte[] RangeKeys = Encoding.ASCII.GetBytes(
        string.Concat(Enumerable.Range(0, RangePartitions).Select(partition => $"{partition:X2}")));

    private static readonly ConcurrentBag<SliceBuffers> Kept = [];

    private readonly int[] _order;
    private readonly Range[] _aliases;
    private readonly List<(int First, int Count)> _transactions = [];
    private readonly List<(int Partition, int First, int Count)> _rangeTransactions = [];
    private readonly ulong[] _sequence;

    // Of the accounts' hashes, made where they are written: the digits of the rows, as many for each; their
    // partitions; and where the rows lie, by partition.
    private byte[] _digits = [];
    private byte[] _partitions = [];
    private Range[] _rangeRows = [];

    private SliceBuffers(int rows)
    {
        Accounts = new AccountBatch(rows);
        _order = new int[rows];
        _aliases = new Range[rows];
        _sequence = new ulong[2 * rows]; // no transaction has less than one account
    }

    /// <summary>The slice's rows, as read.</summary>
    public AccountBatch Accounts { get; }

    /// <summary>Distinct accounts; after grouping.</summary>
    public int Entities { get; private set; }

    public static SliceBuffers Rent(int rows) =>
        Kept.TryTake(out var buffers) && buffers.Accounts.Capacity >= rows ? buffers : new SliceBuffers(rows);

    public static void Return(SliceBuffers buffers)
    {
        buffers.Accounts.Clear();
        if (Kept.Count < KeptAtMost)
            Kept.Add(buffers);
    }

    /// <summary>Sorts, cuts and orders; returns the number of transactions.</summary>
    /// <param name="withRanges">Those of the accounts' hashes among them.</param>
    public int Group(bool withRanges)
    {
        Cut();
        _rangeTransactions.Clear();
        if (withRanges)
        {
            Hash();
            CutRanges();
        }
        Spread();
        return _transactions.Count + _rangeTransactions.Count;
    }

    /// <summary>One transaction, by its place in the order.</summary>
    public SliceTransaction Transaction(int index)
    {
        var at = (int)(_sequence[index] & ((1 << IndexBits) - 1));
        if (at < _transactions.Count)
        {
            var (first, count) = _transactions[at];
            return new SliceTransaction(
                OfRanges: false, Accounts.DomainMemory(_order[first]), _aliases.AsMemory(first, count), Accounts.Memory);
        }
        var range = _rangeTransactions[at - _transactions.Count];
        return new SliceTransaction(
            OfRanges: true, RangeKeys.AsMemory(range.Partition * AccountHash.PartitionDigits, AccountHash.PartitionDigits),
            _rangeRows.AsMemory(range.First, range.Count), _digits);
    }

    private void Cut()
    {
        var accounts = Accounts;
        var order = _order.AsSpan(0, accounts.Count);
        for (var i = 0; i < order.Length; i++)
            order[i] = i;
        order.Sort((left, right) =>
        {
            var byDomain = accounts.Domain(left).SequenceCompareTo(accounts.Domain(right));
            return byDomain != 0 ? byDomain : accounts.Alias(left).SequenceCompareTo(accounts.Alias(right));
        });

        _transactions.Clear();
        Entities = 0;
        var first = 0;
        for (var i = 0; i < order.Length; i++)
        {
            var sameDomain = i > 0 && accounts.Domain(order[i]).SequenceEqual(accounts.Domain(order[i - 1]));
            // Past the dedupe cap a slice may hold an account twice; a transaction may not.
            if (sameDomain && accounts.Alias(order[i]).SequenceEqual(accounts.Alias(order[i - 1])))
                continue;
            if (Entities > first && (!sameDomain || Entities - first == IAccountTable.MaxTransactionEntities))
            {
                _transactions.Add((first, Entities - first));
                first = Entities;
            }
            // order[Entities] has been passed already, so the distinct ones are moved up in place.
            order[Entities] = order[i];
            _aliases[Entities] = accounts.AliasRange(order[i]);
            Entities++;
        }
        if (Entities > first)
            _transactions.Add((first, Entities - first));
    }

    /// <summary>The hash of each distinct account, once a slice: some 300 ns each, and nothing allocated.</summary>
    private void Hash()
    {
        if (_partitions.Length == 0)
        {
            _digits = new byte[Accounts.Capacity * AccountHash.RowDigits];
            _partitions = new byte[Accounts.Capacity];
            _rangeRows = new Range[Accounts.Capacity];
        }
        for (var i = 0; i < Entities; i++)
        {
            _partitions[i] = AccountHash.Write(
                Accounts.Alias(_order[i]), Accounts.Domain(_order[i]), _digits.AsSpan(i * AccountHash.RowDigits, AccountHash.RowDigits));
        }
    }

    /// <summary>By partition, and within one in the order of accounts: counted, not sorted.</summary>
    private void CutRanges()
    {
        Span<int> next = stackalloc int[RangePartitions];
        next.Clear();
        for (var i = 0; i < Entities; i++)
            next[_partitions[i]]++;
        var first = 0;
        for (var partition = 0; partition < RangePartitions; partition++)
        {
            var (start, count) = (first, next[partition]);
            next[partition] = first;
            first += count;
            for (; start < first; start += IAccountTable.MaxTransactionEntities)
                _rangeTransactions.Add((partition, start, Math.Min(IAccountTable.MaxTransactionEntities, first - start)));
        }
        for (var i = 0; i < Entities; i++)
        {
            var digits = i * AccountHash.RowDigits;
            _rangeRows[next[_partitions[i]]++] = digits..(digits + AccountHash.RowDigits);
        }
    }

    /// <summary>
    /// Orders the transactions so that those of one partition lie evenly in the whole, and those of either table
    /// too: in the order of domains, all that are in flight would meet one partition. The k-th of a partition's n
    /// comes at (k + p) / n of the way, and p differs from partition to partition.
    /// </summary>
    private void Spread()
    {
        var partition = 0u;
        for (var start = 0; start < _transactions.Count; partition++)
        {
            var end = start + 1;
            while (end < _transactions.Count && DomainOf(end).SequenceEqual(DomainOf(start)))
                end++;
            Place(start, end, partition);
            start = end;
        }
        for (var start = 0; start < _rangeTransactions.Count; partition++)
        {
            var end = start + 1;
            while (end < _rangeTransactions.Count && _rangeTransactions[end].Partition == _rangeTransactions[start].Partition)
                end++;
            Place(_transactions.Count + start, _transactions.Count + end, partition);
            start = end;
        }
        _sequence.AsSpan(0, _transactions.Count + _rangeTransactions.Count).Sort();
    }

    private void Place(int start, int end, uint partition)
    {
        var phase = unchecked(partition * GoldenRatio);
        for (var i = start; i < end; i++)
            _sequence[i] = (((((ulong)(i - start) << 32) | phase) / (ulong)(end - start)) << IndexBits) | (uint)i;
    }

    private ReadOnlySpan<byte> DomainOf(int transaction) => Accounts.Domain(_order[_transactions[transaction].First]);
}
