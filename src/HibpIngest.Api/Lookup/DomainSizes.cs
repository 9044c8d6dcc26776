using System.Collections.Concurrent;

namespace HibpIngest.Api.Lookup;

/// <summary>Determines which domains have too many accounts for one response, by reading keys only; caches the result.</summary>
public sealed class DomainSizes(IAccountReads accounts, int limit, TimeProvider time)
{
    /// <summary>How long a domain is still served after it has grown past the limit.</summary>
    public static readonly TimeSpan KeptFor = TimeSpan.FromMinutes(10);

    // Only owners query domains, so there are at most as many as API keys have.
    private const int MaxKept = 10_000;

    private readonly ConcurrentDictionary<string, (bool TooLarge, long At)> _known = new(StringComparer.Ordinal);

    /// <summary>Returns whether a domain has more accounts than the limit, in breaches or not.</summary>
    public async ValueTask<bool> IsTooLargeAsync(string domain, CancellationToken cancellationToken)
    {
        if (_known.TryGetValue(domain, out var known) && time.GetElapsedTime(known.At) < KeptFor)
            return known.TooLarge;
        var tooLarge = await accounts.HasMoreAccountsAsync(domain, limit, cancellationToken);
        if (_known.Count >= MaxKept)
            _known.Clear();
        _known[domain] = (tooLarge, time.GetTimestamp());
        return tooLarge;
    }
}
