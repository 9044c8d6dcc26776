namespace HibpIngest.Stores;

/// <summary>
/// A table of accounts, or all of a layout's, as readers need them. Errors as for <see cref="IBreachDatabase"/>;
/// messages never hold a key.
/// </summary>
public interface IAccountReads
{
    /// <summary>
    /// Marks of one account, ascending: a point read, and one for each further <c>alias!n</c> row up to the
    /// highest mark asked for, in parallel. Empty: not found.
    /// </summary>
    /// <param name="domain">Lower-case.</param>
    Task<IReadOnlyList<int>> GetMarksAsync(string domain, string alias, int highestMark, CancellationToken cancellationToken);

    /// <summary>
    /// The accounts of a domain with all marks they have, in key order, as they come page by page; of one that is
    /// spread, partition by partition.
    /// </summary>
    IAsyncEnumerable<AccountEntry> ReadDomainAsync(string domain, CancellationToken cancellationToken);

    /// <summary>
    /// Whether a domain has more accounts than so many, whatever their marks: reads keys only, and stops as soon as it knows.
    /// </summary>
    Task<bool> HasMoreAccountsAsync(string domain, int than, CancellationToken cancellationToken);
}

/// <param name="Marks">Ascending; some may not count.</param>
public sealed record AccountEntry(string Alias, IReadOnlyList<int> Marks);
