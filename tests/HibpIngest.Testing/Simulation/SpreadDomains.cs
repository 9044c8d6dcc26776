using HibpIngest.Journal.Segments;

namespace HibpIngest.Testing;

/// <summary>The domains of the simulated accounts, largest first, and how they are spread.</summary>
internal sealed class SpreadDomains
{
    private readonly double[] _upTo; // cumulative shares
    private readonly string[] _names;

    public SpreadDomains(SpreadParameters parameters)
    {
        var zipf = Enumerable.Range(1, parameters.LargeDomains).Sum(n => 1.0 / n);
        var tail = 1 - parameters.HotShare - parameters.LargeShare;
        All =
        [
            (Hot, parameters.HotShare),
            .. Enumerable.Range(1, parameters.LargeDomains).Select(n => ($"large{n}.example.com", parameters.LargeShare / (n * zipf))),
            .. Enumerable.Range(1, parameters.TailDomains).Select(n => ($"tail{n}.example.org", tail / parameters.TailDomains)),
        ];
        _names = [.. All.Select(one => one.Name)];
        _upTo = new double[All.Count];
        for (var (i, sum) = (0, 0.0); i < _upTo.Length; i++)
            _upTo[i] = sum += All[i].Share;
    }

    /// <summary>Holds a quarter of the accounts.</summary>
    public const string Hot = "hot.example.net";

    public IReadOnlyList<(string Name, double Share)> All { get; }

    public string Draw(Random random)
    {
        var at = Array.BinarySearch(_upTo, random.NextDouble());
        return _names[Math.Min(at < 0 ? ~at : at, _names.Length - 1)];
    }

    /// <summary>
    /// Returns a layout with the hot domain over this many partitions, and the others over as many as keep their
    /// partitions no larger, as an operator would choose after looking at the log.
    /// </summary>
    public LayoutFacts Spread(int storageAccounts, int partitions) => new()
    {
        StorageAccounts = [.. Enumerable.Range(1, storageAccounts)],
        SpreadDomains = All.Select(one => (one.Name, Partitions: (int)Math.Ceiling(partitions * one.Share / All[0].Share)))
            .Where(one => partitions > 1 && one.Partitions > 1).ToDictionary(one => one.Name, one => one.Partitions),
    };

    public static int WriteAlias(long number, Span<byte> alias)
    {
        "user."u8.CopyTo(alias);
        number.TryFormat(alias[5..], out var digits, default, CultureInfo.InvariantCulture);
        return 5 + digits;
    }

    /// <summary>Returns the accounts in each partition of each domain, from a sample, which makes them somewhat more uneven.</summary>
    public IEnumerable<(string Name, byte[] Bytes, int[] Buckets)> Count(long accounts, double scale, LayoutPlacement placement)
    {
        var alias = new byte[32];
        foreach (var (name, share) in All)
        {
            var bytes = Encoding.ASCII.GetBytes(name);
            var buckets = new int[placement.PartitionsOf(bytes)];
            if (buckets.Length == 1)
                buckets[0] = (int)Math.Round(accounts * share);
            else
            {
                for (var i = 0; i < (int)(accounts * share / scale); i++)
                    buckets[LayoutPlacement.BucketOf(alias.AsSpan(0, WriteAlias(i, alias)), buckets.Length)]++;
                for (var i = 0; i < buckets.Length; i++)
                    buckets[i] = (int)(buckets[i] * scale);
            }
            yield return (name, bytes, buckets);
        }
    }

    public IEnumerable<LargeDomain> LargeOf(long accounts) =>
        All.Where(one => one.Share * accounts >= 1_000).Select(one => new LargeDomain(one.Name, (int)(one.Share * accounts)));
}
