namespace HibpIngest.Stores;

/// <summary>
/// A table of accounts: PartitionKey = domain (<c>domain!07</c> where its layout spreads that,
/// <see cref="LayoutPlacement"/>), RowKey = alias (or <c>alias!n</c> for marks above 250 n), a property
/// <c>b{mark}</c> = true per load. Errors as for <see cref="IBreachDatabase"/>; messages never hold
/// a key.
/// </summary>
public interface IAccountTable
{
    /// <summary>Creates the table where it is missing.</summary>
    Task CreateAsync(CancellationToken cancellationToken);

    /// <summary>Deletes the table, and all that is in it; one that is missing may be.</summary>
    Task DropAsync(CancellationToken cancellationToken);

    /// <summary>
    /// Sets a mark on accounts of one partition: one entity group transaction of InsertOrMerge. Never reads. At
    /// most <see cref="MaxTransactionEntities"/> aliases, each once.
    /// </summary>
    /// <param name="partition">Lower-case ASCII.</param>
    /// <param name="aliases">Lower-case ASCII, in <paramref name="bytes"/> at these ranges.</param>
    /// <param name="bytes">Holds the aliases; not kept after the call.</param>
    /// <param name="mark">1 and up.</param>
    /// <param name="inFlight">Where the caller has entered: stepped aside from while the partition is
    /// throttled, and how long for.</param>
    /// <exception cref="Errors.StoreThrottledException">Waiting ended while the service was throttling;
    /// nothing of the transaction was written.</exception>
    Task UpsertAsync(
        ReadOnlyMemory<byte> partition, ReadOnlyMemory<Range> aliases, ReadOnlyMemory<byte> bytes, int mark, TransactionsInFlight inFlight,
        CancellationToken cancellationToken);

    /// <summary>
    /// Sets all marks that rows of one partition are to have: one entity group transaction of InsertOrMerge. Never
    /// reads. A service that is busy is waited for.
    /// </summary>
    Task MergeAsync(ReadOnlyMemory<byte> partition, MarkedRows rows, CancellationToken cancellationToken);

    /// <summary>Aliases of a partition that have one of these marks, each once, in key order, page by page.</summary>
    IAsyncEnumerable<string> ListAliasesAsync(string partition, IReadOnlyCollection<int> marks, CancellationToken cancellationToken);

    /// <summary>
    /// Takes a mark off accounts of one partition, any number of them, and away with rows that are then empty.
    /// Nothing else of an account is touched: guarded by ETag, and read again where somebody else was first. A
    /// service that is busy is waited for. May be run again.
    /// </summary>
    /// <returns>How many entities were changed.</returns>
    Task<int> RemoveMarkAsync(string partition, IReadOnlyCollection<string> aliases, int mark, CancellationToken cancellationToken);

    /// <summary>
    /// The same for the next accounts of one of the table's <see cref="Parts"/> that have the mark: one page,
    /// of as many as the service finds at once, which may be none.
    /// </summary>
    /// <param name="mark">1 and up.</param>
    /// <param name="part">0 and up; parts may be walked at once.</param>
    /// <param name="token">From the page before; null: from the start.</param>
    Task<MarkPage> RemoveMarkAsync(int mark, int part, string? token, CancellationToken cancellationToken);

    /// <summary>Parts that the table is walked in: domains by their first character.</summary>
    const int Parts = 36;

    /// <summary>
    /// Most entities in one transaction
    /// (learn.microsoft.com/rest/api/storageservices/performing-entity-group-transactions).
    /// </summary>
    const int MaxTransactionEntities = 100;

    /// <summary>Marks a row holds: 252 properties of one's own are allowed, and a round number leaves room.</summary>
    const int MarksPerRow = 250;
}
