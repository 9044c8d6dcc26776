using HibpIngest.Journal.Manifest;
using HibpIngest.Journal.Merge;

namespace HibpIngest.Journal.Statistics;

/// <summary>
/// Counts the accounts of the log by breach, by domain and by pair of breaches. Exact, within a memory limit: only the largest domains and
/// a number for each pair of breaches that share an account are kept for the whole log.
/// </summary>
public sealed class JournalStatistics
{
    private readonly string[] _breaches;
    private readonly int[] _breachOf;
    private readonly long[] _rows;
    private readonly long[] _accounts;
    private readonly Dictionary<(int One, int Other), long> _overlaps = [];
    private readonly Dictionary<string, long> _spread = [];
    private readonly PriorityQueue<string, long> _largest = new();
    private readonly List<int> _in = [];
    private readonly int _most;
    private long _distinct;
    private long _all;
    private long _inSeveral;

    private JournalStatistics(IReadOnlyList<JournaledLoad> loads, int domains)
    {
        _most = domains;
        _breaches = [.. loads.Select(load => load.Document!.Breach).Distinct(StringComparer.OrdinalIgnoreCase)];
        _breachOf = [.. loads.Select(load => Array.FindIndex(
            _breaches, breach => breach.Equals(load.Document!.Breach, StringComparison.OrdinalIgnoreCase)))];
        _rows = new long[_breaches.Length];
        _accounts = new long[_breaches.Length];
        for (var load = 0; load < loads.Count; load++)
            _rows[_breachOf[load]] += loads[load].Document!.Rows;
    }

    /// <summary>Counts the accounts of the loads, in one merge.</summary>
    /// <param name="domains">Number of largest domains to return.</param>
    /// <exception cref="DamagedSegmentException">A segment is damaged.</exception>
    /// <exception cref="Errors.StoreMissingException">A segment is missing.</exception>
    public static async Task<JournalFigures> CountAsync(
        IJournalBlobs blobs, MergeAccounts merge, IReadOnlyList<JournaledLoad> loads, int domains, IProgress<long>? progress,
        CancellationToken cancellationToken)
    {
        var counts = new JournalStatistics(loads, domains);
        await merge.RunAsync(
            [.. loads.Select(load => SegmentSource.Of(blobs, load))],
            partition =>
            {
                counts.Add(partition);
                return Task.CompletedTask;
            },
            progress, cancellationToken);
        return counts.Figures();
    }

    private void Add(MergedPartition partition)
    {
        var byDomain = new Dictionary<string, long>();
        var domains = byDomain.GetAlternateLookup<ReadOnlySpan<char>>();
        Span<char> name = stackalloc char[SegmentLimits.DomainBytes];
        for (var account = 0; account < partition.Count; account++)
        {
            var domain = name[..Encoding.ASCII.GetChars(partition.Domain(account), name)];
            domains[domain] = domains.TryGetValue(domain, out var before) ? before + 1 : 1;
            CountBreaches(partition, account);
        }
        _all += partition.Count;
        foreach (var (domain, count) in byDomain)
        {
            // The count of a spread domain is complete only after the last partition; there are few such domains.
            if (partition.IsSpread(Encoding.ASCII.GetBytes(domain)))
                _spread[domain] = _spread.GetValueOrDefault(domain) + count;
            else
                Keep(domain, count);
        }
    }

    private void CountBreaches(MergedPartition partition, int account)
    {
        _in.Clear();
        foreach (var load in partition.Loads(account))
        {
            if (!_in.Contains(_breachOf[load]))
                _in.Add(_breachOf[load]);
        }
        if (_in.Count > 1)
            _inSeveral++;
        foreach (var breach in _in)
        {
            _accounts[breach]++;
            foreach (var other in _in)
            {
                if (other > breach)
                    _overlaps[(breach, other)] = _overlaps.GetValueOrDefault((breach, other)) + 1;
            }
        }
    }

    /// <summary>Counts a complete domain; keeps it while it is among the largest.</summary>
    private void Keep(string domain, long count)
    {
        _distinct++;
        _largest.Enqueue(domain, count);
        if (_largest.Count > _most)
            _largest.Dequeue();
    }

    private JournalFigures Figures()
    {
        foreach (var (domain, count) in _spread)
            Keep(domain, count);
        return new JournalFigures
        {
            Rows = _rows.Sum(),
            Accounts = _all,
            AccountsInSeveral = _inSeveral,
            Domains = _distinct,
            Breaches =
            [
                .. _breaches.Select((name, i) => new BreachFigures(name, _rows[i], _accounts[i]))
                    .OrderByDescending(breach => breach.Accounts).ThenBy(breach => breach.Name, StringComparer.Ordinal),
            ],
            LargestDomains =
            [
                .. _largest.UnorderedItems.Select(item => new DomainFigures(item.Element, item.Priority))
                    .OrderByDescending(domain => domain.Accounts).ThenBy(domain => domain.Name, StringComparer.Ordinal),
            ],
            Overlaps =
            [
                .. _overlaps.Select(pair => new OverlapFigures(_breaches[pair.Key.One], _breaches[pair.Key.Other], pair.Value))
                    .OrderByDescending(pair => pair.Accounts).ThenBy(pair => pair.One, StringComparer.Ordinal)
                    .ThenBy(pair => pair.Other, StringComparer.Ordinal),
            ],
        };
    }
}
