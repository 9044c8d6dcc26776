using System.Collections.Concurrent;
using HibpIngest.Accounts;
using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>
/// The rows of one slice and their order by domain, in buffers that are used again from slice to slice.
/// <see cref="GroupByDomain"/> cuts them into entity group transactions: one domain each, each account once, at
/// most <see cref="IAccountTable.MaxTransactionEntities"/>. Their order is the same whenever the slice is read:
/// it is what progress is counted in.
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
    public const int OrderVersion = 1;

    private const uint GoldenRatio = 2654435769; // of 2^32: multiples of it lie evenly between 0 and 2^32, however many there are
    private const int IndexBits = 24;

    private static readonly ConcurrentBag<SliceBuffers> Kept = [];

    private readonly int[] _order;
    private readonly Range[] _aliases;
    private readonly List<(int First, int Count)> _transactions = [];
    private readonly ulong[] _sequence;

    private SliceBuffers(int rows)
    {
        Accounts = new AccountBatch(rows);
        _order = new int[rows];
        _aliases = new Range[rows];
        _sequence = new ulong[rows];
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
    public int GroupByDomain()
    {
        Cut();
        Spread();
        return _transactions.Count;
    }

    /// <summary>
    /// Domain and aliases (ranges of <see cref="AccountBatch.Memory"/>) of one transaction, by its place in the
    /// order.
    /// </summary>
    public (ReadOnlyMemory<byte> Domain, ReadOnlyMemory<Range> Aliases) Transaction(int index)
    {
        var (first, count) = _transactions[(int)(_sequence[index] & ((1 << IndexBits) - 1))];
        return (Accounts.DomainMemory(_order[first]), _aliases.AsMemory(first, count));
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

    /// <summary>
    /// Orders the transactions so that those of one domain lie evenly in the whole: in the order of domains,
    /// all that are in flight would meet one partition. The k-th of a domain's n comes at (k + p) / n of the
    /// way, and p differs from domain to domain.
    /// </summary>
    private void Spread()
    {
        var domain = 0u;
        for (var start = 0; start < _transactions.Count; domain++)
        {
            var end = start + 1;
            while (end < _transactions.Count && DomainOf(end).SequenceEqual(DomainOf(start)))
                end++;
            var phase = unchecked(domain * GoldenRatio);
            for (var i = start; i < end; i++)
                _sequence[i] = (((((ulong)(i - start) << 32) | phase) / (ulong)(end - start)) << IndexBits) | (uint)i;
            start = end;
        }
        _sequence.AsSpan(0, _transactions.Count).Sort();
    }

    private ReadOnlySpan<byte> DomainOf(int transaction) => Accounts.Domain(_order[_transactions[transaction].First]);
}
