using HibpIngest.Stores;

namespace HibpIngest.Lookup;

/// <summary>
/// Which breaches accounts are in, asked for by the first six digits of their hash, so that whoever asks doesn't say which
/// account is meant (k-anonymity).
/// </summary>
public sealed class BreachedRanges(CatalogueReader catalogue, IRangeReads ranges)
{
    public const int PrefixDigits = 6;

    /// <summary>The hashes of a range that are in a breach, in order, without those that nobody is told of about somebody.</summary>
    /// <param name="prefix">Six upper-case hex digits.</param>
    /// <exception cref="RangesNotReadyException">Not every account is in the table of hashes yet.</exception>
    public async Task<IReadOnlyList<(string Suffix, IReadOnlyList<PublishedBreach> Breaches)>> FindAsync(
        string prefix, CancellationToken cancellationToken)
    {
        var snapshot = await catalogue.GetAsync(cancellationToken);
        var found = new List<(string, IReadOnlyList<PublishedBreach>)>();
        foreach (var (suffix, marks) in await ranges.ReadRangeAsync(prefix, cancellationToken))
        {
            if (snapshot.BreachesOf(marks, withSensitive: false) is { Count: > 0 } breaches)
                found.Add((suffix, breaches));
        }
        return found;
    }
}
