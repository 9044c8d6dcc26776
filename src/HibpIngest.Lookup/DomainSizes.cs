using System.Collections.Concurrent;
using HibpIngest.Stores;

namespace HibpIngest.Lookup;

/// <summary>Which domains have too many accounts for one answer, found by reading keys only and kept for a while.</summary>
public sealed class DomainSizes(IAccountReads accounts, int most, TimeProvider time)
{
    /// <summary>A domain that has grown past the limit is still answered for so long.</summary>
    public static readonly TimeSpan KeptFor = TimeSpan.FromMinutes(10);

    // Domains are asked for by their owners: there are no more of them than keys name.
    private const int MostKept = 10_000;

    private readonly ConcurrentDictionary<string, (bool TooLarge, long At)> _known = new(StringComparer.Ordinal);

    /// <summary>Whether a domain has more accounts than the limit, whatever they are in.</summary>
    public async ValueTask<bool> IsTooLargeAsync(string domain, CancellationToken cancellationToken)
    {
        if (_known.TryGetValue(domain, out var known) && time.GetElapsedTime(known.At) < KeptFor)
            return known.TooLarge;
        var tooLarge = await accounts.HasMoreAccountsAsync(domain, most, cancellationToken);
        if (_known.Count >= MostKept)
            _known.Clear();
        _known[domain] = (tooLarge, time.GetTimestamp());
        return tooLarge;
    }
}
