namespace HibpIngest.Stores;

/// <summary>Accounts by the prefix of their hash. Errors are those of <see cref="IBreachDatabase"/>.</summary>
public interface IRangeReads
{
    /// <summary>
    /// Returns the hashes that start with six hex digits, in order, each once with all its marks: one range query, and another
    /// one per thousand rows.
    /// </summary>
    /// <param name="prefix">Six upper-case hex digits.</param>
    Task<IReadOnlyList<RangeEntry>> ReadRangeAsync(string prefix, CancellationToken cancellationToken);
}

/// <param name="Suffix">The 34 upper-case hex digits after the prefix.</param>
/// <param name="Marks">Ascending; some may not count.</param>
public sealed record RangeEntry(string Suffix, IReadOnlyList<int> Marks);
