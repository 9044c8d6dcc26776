namespace HibpIngest.Stores;

/// <summary>
/// Read access to one account table, or to all of a layout. Errors are those of <see cref="IBreachDatabase"/>; messages never hold a key.
/// </summary>
public interface IAccountReads
{
    /// <summary>
    /// Returns the marks of one account, ascending: one point read, and in parallel one for each further <c>alias!n</c> row up to the
    /// highest mark. Empty: not found. A negative mark is an opt-out: see <see cref="OptOut.Hides"/>.
    /// </summary>
    /// <param name="account">Its domain may be a partition (<c>domain!07</c>) of the one table.</param>
    Task<IReadOnlyList<int>> GetMarksAsync(Account account, int highestMark, CancellationToken cancellationToken);

    /// <summary>
    /// Returns the accounts of a domain with all their marks, in key order, page by page. A spread domain is read partition by partition.
    /// </summary>
    IAsyncEnumerable<AccountEntry> ReadDomainAsync(string domain, CancellationToken cancellationToken);

    /// <summary>
    /// Returns whether a domain has more than <paramref name="than"/> accounts, with any marks. Reads only keys, and stops as soon as the
    /// answer is known.
    /// </summary>
    Task<bool> HasMoreAccountsAsync(string domain, int than, CancellationToken cancellationToken);
}

/// <param name="Marks">Ascending; some may not count, a negative one is an opt-out.</param>
public sealed record AccountEntry(string Alias, IReadOnlyList<int> Marks);

/// <summary>Accounts by the prefix of their hash. Errors are those of <see cref="IBreachDatabase"/>.</summary>
public interface IRangeReads
{
    /// <summary>
    /// Returns the hashes that start with six hex digits, in order, each once with all its marks: one range query, and another one per
    /// thousand rows.
    /// </summary>
    /// <param name="prefix">Six upper-case hex digits.</param>
    Task<IReadOnlyList<RangeEntry>> ReadRangeAsync(string prefix, CancellationToken cancellationToken);
}

/// <param name="Suffix">The 34 upper-case hex digits after the prefix.</param>
/// <param name="Marks">Ascending; some may not count, a negative one is an opt-out.</param>
public sealed record RangeEntry(string Suffix, IReadOnlyList<int> Marks);
