namespace HibpIngest.Api.Lookup;

/// <summary>
/// Looks up breaches by the first six digits of an account's hash, so that the caller doesn't reveal the account (k-anonymity).
/// </summary>
public sealed class BreachedRanges(CatalogueReader catalogue, IRangeReads ranges)
{
    public const int PrefixDigits = 6;

    /// <summary>Returns the hashes of a range that are in a breach, in order, without sensitive and retired breaches.</summary>
    /// <param name="prefix">Six upper-case hex digits.</param>
    /// <exception cref="RangesNotReadyException">The table of hashes doesn't hold every account yet.</exception>
    public async Task<IReadOnlyList<(string Suffix, IReadOnlyList<PublishedBreach> Breaches)>> FindAsync(
        string prefix, CancellationToken cancellationToken)
    {
        var snapshot = await catalogue.GetAsync(cancellationToken);
        var found = new List<(string, IReadOnlyList<PublishedBreach>)>();
        foreach (var (suffix, marks) in await ranges.ReadRangeAsync(prefix, cancellationToken))
        {
            if (snapshot.BreachesOf(marks, forOwner: false) is { Count: > 0 } breaches)
                found.Add((suffix, breaches));
        }
        return found;
    }
}

/// <summary>The table of hashes doesn't hold every account yet, so a response from it could report a breached account as clean.</summary>
public sealed class RangesNotReadyException()
    : HibpException("the table of hashes doesn't hold every account yet: 'hibp ranges fill' adds them");
