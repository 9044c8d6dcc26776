using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.Lookup;

/// <summary>
/// Which breaches accounts are in, asked for by the first six digits of their hash, so that whoever asks doesn't say which
/// account is meant (k-anonymity).
/// </summary>
public sealed class BreachedRanges(CatalogueReader catalogue, IReadLayout layout, IRangeReads ranges, TimeProvider time)
{
    /// <summary>Hex digits of a prefix.</summary>
    public const int PrefixDigits = 6;

    // Ranges are turned on once in the life of a store.
    private static readonly TimeSpan AskAgainAfter = TimeSpan.FromSeconds(10);

    private volatile bool _on;
    private long _askedAt;

    /// <summary>The hashes of a range that are in a breach, in order, without those that nobody is told of about somebody.</summary>
    /// <param name="prefix">Six upper-case hex digits.</param>
    /// <param name="cancellationToken">Stops it.</param>
    /// <exception cref="RangesNotReadyException">Not every account is in the table of hashes yet.</exception>
    public async Task<IReadOnlyList<(string Suffix, IReadOnlyList<PublishedBreach> Breaches)>> FindAsync(
        string prefix, CancellationToken cancellationToken)
    {
        await RequireOnAsync(cancellationToken);
        var snapshot = await catalogue.GetAsync(cancellationToken);
        var found = new List<(string, IReadOnlyList<PublishedBreach>)>();
        foreach (var (suffix, marks) in await ranges.ReadRangeAsync(prefix, cancellationToken))
        {
            if (snapshot.BreachesOf(marks, withSensitive: false) is { Count: > 0 } breaches)
                found.Add((suffix, breaches));
        }
        return found;
    }

    private async ValueTask RequireOnAsync(CancellationToken cancellationToken)
    {
        if (_on)
            return;
        var asked = Volatile.Read(ref _askedAt);
        if (asked == 0 || time.GetElapsedTime(asked) > AskAgainAfter)
        {
            _on = await layout.GetReadLayoutAsync(cancellationToken) is { Ranges: RangesState.On };
            Volatile.Write(ref _askedAt, time.GetTimestamp());
        }
        if (!_on)
            throw new RangesNotReadyException();
    }
}
