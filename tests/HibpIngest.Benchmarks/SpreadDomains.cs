using System.Globalization;
using System.Text;
using HibpIngest.AccountLog;
using HibpIngest.Stores;

namespace HibpIngest.Benchmarks;

/// <summary>The domains of the simulated accounts, the largest first, and how they are spread.</summary>
internal sealed class SpreadDomains
{
    private readonly double[] _upTo; // shares, added up
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

    /// <summary>A quarter of the accounts is in it.</summary>
    public const string Hot = "hot.example.net";

    public IReadOnlyList<(string Name, double Share)> All { get; }

    /// <summary>One, as likely as its share.</summary>
    public string Draw(Random random)
    {
        var at = Array.BinarySearch(_upTo, random.NextDouble());
        return _names[Math.Min(at < 0 ? ~at : at, _names.Length - 1)];
    }

    /// <summary>
    /// A layout with the hot domain over so many partitions, and others over as many as keep each of theirs no larger, as somebody would
    /// have it who has looked at what lies in the log.
    /// </summary>
    public LayoutFacts Spread(int storageAccounts, int partitions) => new()
    {
        StorageAccounts = [.. Enumerable.Range(1, storageAccounts)],
        SpreadDomains = All.Select(one => (one.Name, Partitions: (int)Math.Ceiling(partitions * one.Share / All[0].Share)))
            .Where(one => partitions > 1 && one.Partitions > 1).ToDictionary(one => one.Name, one => one.Partitions),
    };

    /// <summary>Writes an alias; returns its length.</summary>
    public static int WriteAlias(long number, Span<byte> alias)
    {
        "user."u8.CopyTo(alias);
        number.TryFormat(alias[5..], out var digits, default, CultureInfo.InvariantCulture);
        return 5 + digits;
    }

    /// <summary>
    /// How many accounts of so many are in each domain, in each of its partitions: one in so many is looked at, which makes the
    /// partitions rather more uneven than they are.
    /// </summary>
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

    /// <summary>As the footers of segments tell of them.</summary>
    public IEnumerable<LargeDomain> LargeOf(long accounts) =>
        All.Where(one => one.Share * accounts >= 1_000).Select(one => new LargeDomain(one.Name, (int)(one.Share * accounts)));
}
