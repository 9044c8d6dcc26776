using HibpIngest.Journal.Manifest;
using HibpIngest.Journal.Merge;

namespace HibpIngest.Journal.Statistics;

/// <summary>
/// Counts the journal's accounts by breach, by domain and by pair of breaches. Exact, within a memory limit: only the largest domains and
/// a number for each pair of breaches that share an account are held for the whole journal.
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
    private readonly List<int> _breachesOfAccount = [];
    private readonly int _maxDomains;
    private long _allDomains;
    private long _allAccounts;
    private long _inSeveral;

    private JournalStatistics(IReadOnlyList<JournaledLoad> loads, int domains)
    {
        _maxDomains = domains;
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
        var counts = new long[partition.Domains];
        for (var account = 0; account < partition.Count; account++)
        {
            counts[partition.DomainOf(account)]++;
            CountBreaches(partition, account);
        }
        _allAccounts += partition.Count;
        for (var domain = 0; domain < counts.Length; domain++)
        {
            var name = partition.DomainName(domain).Span;
            var text = Encoding.ASCII.GetString(name);
            // The count of a spread domain is complete only after the last partition; there are few such domains.
            if (partition.IsSpread(name))
                _spread[text] = _spread.GetValueOrDefault(text) + counts[domain];
            else
                AddDomain(text, counts[domain]);
        }
    }

    private void CountBreaches(MergedPartition partition, int account)
    {
        _breachesOfAccount.Clear();
        foreach (var load in partition.Loads(account))
        {
            if (!_breachesOfAccount.Contains(_breachOf[load]))
                _breachesOfAccount.Add(_breachOf[load]);
        }
        if (_breachesOfAccount.Count > 1)
            _inSeveral++;
        foreach (var breach in _breachesOfAccount)
        {
            _accounts[breach]++;
            foreach (var other in _breachesOfAccount)
            {
                if (other > breach)
                    _overlaps[(breach, other)] = _overlaps.GetValueOrDefault((breach, other)) + 1;
            }
        }
    }

    private void AddDomain(string domain, long count)
    {
        _allDomains++;
        _largest.Enqueue(domain, count);
        if (_largest.Count > _maxDomains)
            _largest.Dequeue();
    }

    private JournalFigures Figures()
    {
        foreach (var (domain, count) in _spread)
            AddDomain(domain, count);
        var breaches = _breaches.Select((name, i) => new BreachFigures(name, _rows[i], _accounts[i]))
            .OrderByDescending(breach => breach.Accounts).ThenBy(breach => breach.Name, StringComparer.Ordinal);
        var largest = _largest.UnorderedItems.Select(item => new DomainFigures(item.Element, item.Priority))
            .OrderByDescending(domain => domain.Accounts).ThenBy(domain => domain.Name, StringComparer.Ordinal);
        var overlaps = _overlaps.Select(pair => new OverlapFigures(_breaches[pair.Key.One], _breaches[pair.Key.Other], pair.Value))
            .OrderByDescending(pair => pair.Accounts).ThenBy(pair => pair.One, StringComparer.Ordinal)
            .ThenBy(pair => pair.Other, StringComparer.Ordinal);
        return new JournalFigures(_rows.Sum(), _allAccounts, _inSeveral, _allDomains, [.. breaches], [.. largest], [.. overlaps]);
    }
}

/// <summary>Statistics of the journal's counting loads; lists are in descending order of accounts.</summary>
/// <param name="Rows">Rows of all loads; an account in several loads counts several times.</param>
/// <param name="AccountsInSeveral">Accounts in more than one breach.</param>
/// <param name="Overlaps">Pairs of breaches that share an account.</param>
public sealed record JournalFigures(
    long Rows, long Accounts, long AccountsInSeveral, long Domains, IReadOnlyList<BreachFigures> Breaches,
    IReadOnlyList<DomainFigures> LargestDomains, IReadOnlyList<OverlapFigures> Overlaps);

/// <param name="Accounts">Distinct accounts: the number to publish.</param>
public sealed record BreachFigures(string Name, long Rows, long Accounts);

/// <param name="Name">Lower-case.</param>
public sealed record DomainFigures(string Name, long Accounts);

/// <param name="Accounts">Distinct accounts in both breaches.</param>
public sealed record OverlapFigures(string One, string Other, long Accounts);
