using System.Collections.Concurrent;
using HibpIngest.Accounts;
using HibpIngest.Ports;

namespace HibpIngest.Pipeline;

/// <summary>
/// The rows of one slice and their order by domain, in buffers that are used again from slice to slice. <see cref="GroupByDomain"/> cuts them into entity group transactions:
/// one domain each, each account once, at most <see cref="IAccountTable.MaxTransactionEntities"/>.
/// </summary>
internal sealed class SliceBuffers
{
    // As many as one process works on at once under the host's queue settings; more are made when needed and left to the collector.
    private const int KeptAtMost = 32;
    private static readonly ConcurrentBag<SliceBuffers> Kept = [];

    private readonly int[] _order;
    private readonly Range[] _aliases;
    private readonly List<(int First, int Count)> _transactions = [];

    private SliceBuffers(int rows)
    {
        Accounts = new AccountBatch(rows);
        _order = new int[rows];
        _aliases = new Range[rows];
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

    /// <summary>Sorts and cuts; returns the number of transactions.</summary>
    public int GroupByDomain()
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
        return _transactions.Count;
    }

    /// <summary>Domain and aliases (ranges of <see cref="AccountBatch.Memory"/>) of one transaction.</summary>
    public (ReadOnlyMemory<byte> Domain, ReadOnlyMemory<Range> Aliases) Transaction(int index)
    {
        var (first, count) = _transactions[index];
        return (Accounts.DomainMemory(_order[first]), _aliases.AsMemory(first, count));
    }
}
