namespace HibpIngest.Stores;

/// <summary>
/// A table of accounts: PartitionKey = domain (<c>domain!07</c> if the layout spreads the domain, <see cref="LayoutPlacement"/>), RowKey =
/// alias (or <c>alias!n</c> for marks above 250 n), one property <c>b{mark}</c> = true per load. Errors are those of
/// <see cref="IBreachDatabase"/>; messages never hold a key.
/// </summary>
public interface IAccountTable
{
    Task CreateAsync(CancellationToken cancellationToken);
    Task DropAsync(CancellationToken cancellationToken);

    /// <summary>
    /// Sets a mark on accounts of one partition: one entity group transaction of InsertOrMerge, without reading. At most
    /// <see cref="MaxTransactionEntities"/> aliases, each once.
    /// </summary>
    /// <param name="partition">Lower-case ASCII.</param>
    /// <param name="aliases">Ranges of the aliases (lower-case ASCII) in <paramref name="bytes"/>.</param>
    /// <param name="bytes">Holds the aliases; not kept after the call.</param>
    /// <param name="inFlight">Entered by the caller. The call steps aside while the partition is throttled, until
    /// <see cref="TransactionsInFlight.StopWaiting"/> is cancelled.</param>
    /// <exception cref="Errors.StoreThrottledException">Waiting ended while the service was throttling; nothing of the transaction was
    /// written.</exception>
    Task UpsertAsync(
        ReadOnlyMemory<byte> partition, ReadOnlyMemory<Range> aliases, ReadOnlyMemory<byte> bytes, int mark, TransactionsInFlight inFlight,
        CancellationToken cancellationToken);

    /// <summary>
    /// Sets all marks of the given rows in one partition: one entity group transaction of InsertOrMerge, without reading. Waits while the
    /// service is busy.
    /// </summary>
    Task MergeAsync(ReadOnlyMemory<byte> partition, MarkedRows rows, CancellationToken cancellationToken);

    /// <summary>
    /// Sets <see cref="OptOut.Property"/> of an entity by InsertOrMerge, also of one that has no mark yet. Waits while the service is busy.
    /// </summary>
    /// <param name="key">The row key, without <c>!n</c>.</param>
    Task PutOptOutAsync(string partition, string key, OptOutLevel level, CancellationToken cancellationToken);

    /// <summary>Returns the aliases of a partition that have one of these marks, without those hidden from all, in key order, page by
    /// page.</summary>
    IAsyncEnumerable<string> ListAliasesAsync(string partition, IReadOnlyCollection<int> marks, CancellationToken cancellationToken);

    /// <summary>
    /// Removes a mark from any number of accounts of one partition, and deletes rows that become empty. Nothing else of an account changes:
    /// writes are guarded by ETag and repeated after a conflict. Waits while the service is busy. Idempotent.
    /// </summary>
    /// <returns>The number of changed entities.</returns>
    Task<int> RemoveMarkAsync(string partition, IReadOnlyCollection<string> aliases, int mark, CancellationToken cancellationToken);

    /// <summary>
    /// Removes a mark from the next page of accounts that have it, in one of the table's <see cref="Parts"/>. The service decides the size
    /// of the page, which may be 0.
    /// </summary>
    /// <param name="part">0 and up; parts may be scanned concurrently.</param>
    /// <param name="token">Token of the previous page; if null, the first page is read.</param>
    Task<MarkPage> RemoveMarkAsync(int mark, int part, string? token, CancellationToken cancellationToken);

    /// <summary>Returns the next page of one of the table's <see cref="Parts"/>. The service decides its size, which may be 0.</summary>
    /// <param name="part">0 and up; parts may be scanned concurrently.</param>
    /// <param name="token">Token of the previous page; if null, the first page is read.</param>
    Task<AccountPage> ReadPageAsync(int part, string? token, CancellationToken cancellationToken);

    /// <summary>Number of parts for scanning the table: domains by their first character.</summary>
    const int Parts = 36;

    /// <summary>
    /// Maximum number of entities in one transaction (learn.microsoft.com/rest/api/storageservices/performing-entity-group-transactions).
    /// </summary>
    const int MaxTransactionEntities = 100;

    /// <summary>Marks per row: the service allows 252 custom properties; a round number leaves room.</summary>
    const int MarksPerRow = 250;
}

/// <param name="Rows">Each with its partition; the key is the alias.</param>
/// <param name="Token">Beginning of the next page; null if this was the last. It holds a key, which identifies a person: store it only in
/// the database.</param>
public sealed record AccountPage(IReadOnlyList<(string Partition, MarkedRow Row)> Rows, string? Token);

/// <param name="Changed">Number of entities from which the mark was removed.</param>
/// <param name="Token">Beginning of the next page; null if this was the last. It may hold a key, which identifies a person: store it only
/// in the database.</param>
public sealed record MarkPage(int Changed, string? Token);
