using HibpIngest.Journal.Merge;
using HibpIngest.Pipeline.Upsert;

namespace HibpIngest.Testing;

/// <summary>
/// The transactions of a load or a rebuild, in order: for a load as <see cref="SliceBuffers"/> cuts and orders each
/// slice; for a rebuild those of one merged partition after another, as <see cref="MergePlan"/> cuts them and <see
/// cref="TransactionOrder"/> orders them. <see cref="LayoutPlacement"/> decides where each goes.
/// </summary>
internal sealed class SpreadWork
{
    private const int RangePartitions = 256;
    private const string RangesTable = "ranges";
    private const string AccountsTable = "accounts";

    private readonly SpreadParameters _parameters;
    private readonly SpreadDomains _domains;
    private readonly LayoutPlacement _placement;
    private readonly SpreadPoint _point;
    private readonly Dictionary<string, int> _numbers = new(StringComparer.Ordinal);

    public SpreadWork(SpreadParameters parameters, SpreadPoint point)
    {
        (_parameters, _point) = (parameters, point);
        _domains = new SpreadDomains(parameters);
        _placement = new LayoutPlacement(_domains.Spread(point.StorageAccounts, point.Partitions));
    }

    public List<SpreadPartition> Partitions { get; } = [];

    /// <summary>The number of merged partitions in a rebuild of all accounts.</summary>
    public int MergedPartitions { get; private set; }

    public IReadOnlyList<SpreadTransaction[]> Slices(int count, Random random)
    {
        var rows = SliceBuffers.Rent(_parameters.SliceRows);
        var slices = new List<SpreadTransaction[]>();
        var alias = new byte[32];
        while (slices.Count < count)
        {
            rows.Accounts.Clear();
            while (!rows.Accounts.IsFull)
            {
                var length = SpreadDomains.WriteAlias(random.NextInt64(_parameters.Accounts), alias);
                rows.Accounts.Add(alias.AsSpan(0, length), Encoding.ASCII.GetBytes(_domains.Draw(random)));
            }
            var transactions = new SpreadTransaction[rows.Group([new SliceLayout(_placement, _point.WithRanges)])];
            for (var i = 0; i < transactions.Length; i++)
            {
                var one = rows.Transaction(i);
                transactions[i] = new SpreadTransaction(
                    NumberOf(one.OfRanges, Encoding.ASCII.GetString(one.Partition.Span), one.StorageAccount), one.Rows.Length);
            }
            slices.Add(transactions);
        }
        SliceBuffers.Return(rows);
        return slices;
    }

    /// <summary>Makes the transactions of some of a rebuild's merged partitions (of the merge, not of the table), in full size.</summary>
    public IReadOnlyList<SpreadTransaction[]> Rebuild(double scale, Random random)
    {
        var accounts = _parameters.Accounts;
        var plan = new MergePlan(accounts, _parameters.MergeMemoryBytes, _domains.LargeOf(accounts));
        MergedPartitions = plan.Partitions;
        var count = Math.Max((int)Math.Round(plan.Partitions / scale), 1);
        var merged = Enumerable.Range(0, count).Select(_ => new List<(int Partition, int Entities)>()).ToList();
        foreach (var (name, bytes, buckets) in _domains.Count(accounts, scale, _placement))
        {
            // Negative for a large domain, whose accounts are spread over all merged partitions.
            var at = plan.PartitionOf(bytes);
            if (at >= count)
                continue;
            for (var bucket = 0; bucket < buckets.Length; bucket++)
            {
                var key = buckets.Length == 1 ? name : $"{name}!{bucket:x2}";
                var number = NumberOf(ofRanges: false, key, _placement.StorageAccountOf(bytes, bucket));
                if (at >= 0)
                    merged[at].Add((number, buckets[bucket]));
                for (var i = 0; at < 0 && i < count; i++)
                    merged[i].Add((number, Part(buckets[bucket], i, plan.Partitions)));
            }
        }
        foreach (var partition in merged)
        {
            var entities = partition.Sum(one => one.Entities);
            for (var range = 0; _point.WithRanges && range < RangePartitions; range++)
            {
                var number = NumberOf(ofRanges: true, $"{range:X2}", _placement.StorageAccountOfRange(range));
                partition.Add((number, DrawEven(entities, random)));
            }
        }
        return [.. merged.Select(Order)];
    }

    /// <summary>Cuts the entities into transactions of at most a hundred, and orders them.</summary>
    private static SpreadTransaction[] Order(List<(int Partition, int Entities)> partitions)
    {
        const int Most = IAccountTable.MaxTransactionEntities;
        var cuts = partitions.SelectMany(one => Enumerable.Range(0, (one.Entities + Most - 1) / Most)
            .Select(i => new SpreadTransaction(one.Partition, Math.Min(Most, one.Entities - (i * Most))))).ToArray();
        var order = new TransactionOrder(cuts.Length);
        order.Begin(cuts.Length);
        var number = 0u;
        for (var start = 0; start < cuts.Length;)
        {
            var end = start + 1;
            while (end < cuts.Length && cuts[end].Partition == cuts[start].Partition)
                end++;
            order.Place(start, end, number++);
            start = end;
        }
        order.End();
        return [.. Enumerable.Range(0, cuts.Length).Select(i => cuts[order[i]])];
    }

    private static int Part(int count, int part, int parts) =>
        (int)(((long)count * (part + 1) / parts) - ((long)count * part / parts));

    /// <summary>Draws how many hashes fall into one of the ranges' partitions: hashes are distributed as if at random.</summary>
    private static int DrawEven(int count, Random random)
    {
        var mean = (double)count / RangePartitions;
        var normal = Math.Sqrt(-2 * Math.Log(1 - random.NextDouble())) * Math.Cos(2 * Math.PI * random.NextDouble());
        return (int)Math.Round(mean + (normal * Math.Sqrt(mean)));
    }

    private int NumberOf(bool ofRanges, string key, int storageAccount)
    {
        var table = ofRanges ? RangesTable : AccountsTable;
        var name = $"{table}/{key}";
        if (_numbers.TryGetValue(name, out var number))
            return number;
        _numbers.Add(name, number = Partitions.Count);
        Partitions.Add(new SpreadPartition(
            table, Encoding.ASCII.GetBytes(key), _point.IsOneAccount ? 0 : storageAccount - 1,
            ofRanges, !ofRanges && LayoutPlacement.DomainOf(key) == SpreadDomains.Hot));
        return number;
    }
}

/// <param name="StorageAccount">0-based.</param>
internal sealed record SpreadPartition(string Table, byte[] Key, int StorageAccount, bool IsRange, bool IsHot);

/// <param name="Partition">The partition's number.</param>
internal readonly record struct SpreadTransaction(int Partition, int Entities);
