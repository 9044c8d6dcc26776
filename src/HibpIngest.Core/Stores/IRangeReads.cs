namespace HibpIngest.Stores;

/// <summary>Accounts by the beginning of their hash. Errors as for <see cref="IBreachDatabase"/>.</summary>
public interface IRangeReads
{
    /// <summary>
    /// The hashes that begin with six hex digits, in order, each once with all marks it has: one range query, and another
    /// for each thousand rows.
    /// </summary>
    /// <param name="prefix">Six upper-case hex digits.</param>
    Task<IReadOnlyList<RangeEntry>> ReadRangeAsync(string prefix, CancellationToken cancellationToken);
}

/// <param name="Suffix">The 34 upper-case hex digits behind the prefix.</param>
/// <param name="Marks">Ascending; some may not count.</param>
public sealed record RangeEntry(string Suffix, IReadOnlyList<int> Marks);
