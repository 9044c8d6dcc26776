namespace HibpIngest.Stores;

/// <summary>
/// Hashes of accounts in Table Storage: PartitionKey = the first two hex digits of the SHA-1 of the address, RowKey = the other 38 (with
/// <c>!n</c> appended for marks above 250 n), upper-case, one property <c>b{mark}</c> = true per load, as in the account table. Errors are
/// those of <see cref="IBreachDatabase"/>; messages never hold a key.
/// </summary>
public interface IRangeTable : IRangeReads
{
    Task CreateAsync(CancellationToken cancellationToken);
    Task DropAsync(CancellationToken cancellationToken);

    /// <summary>Sets a mark on hashes of one partition: one entity group transaction, as <see cref="IAccountTable.UpsertAsync"/>.</summary>
    /// <param name="rows">Ranges of the other 38 digits in <paramref name="bytes"/>.</param>
    /// <param name="bytes">Holds the digits; not kept after the call.</param>
    Task UpsertAsync(
        ReadOnlyMemory<byte> partition, ReadOnlyMemory<Range> rows, ReadOnlyMemory<byte> bytes, int mark, TransactionsInFlight inFlight,
        CancellationToken cancellationToken);

    /// <inheritdoc cref="IAccountTable.PutOptOutAsync"/>
    Task PutOptOutAsync(string partition, string key, OptOutLevel level, CancellationToken cancellationToken);

    /// <inheritdoc cref="IAccountTable.MergeAsync"/>
    Task MergeAsync(ReadOnlyMemory<byte> partition, MarkedRows rows, CancellationToken cancellationToken);

    /// <summary>
    /// Removes a mark from hashes of one partition, as
    /// <see cref="IAccountTable.RemoveMarkAsync(string, IReadOnlyCollection{string}, int, CancellationToken)"/> does.
    /// </summary>
    Task<int> RemoveMarkAsync(string partition, IReadOnlyCollection<string> rows, int mark, CancellationToken cancellationToken);

    /// <summary>Removes a mark from the next page of hashes that have it, in one of the table's <see cref="Parts"/>.</summary>
    Task<MarkPage> RemoveMarkAsync(int mark, int part, string? token, CancellationToken cancellationToken);

    /// <summary>Number of parts for scanning the table: hashes by their first digit.</summary>
    const int Parts = 16;
}

/// <summary>A row of an account or range table.</summary>
/// <param name="Key">Row key without <c>!n</c>.</param>
/// <param name="Row">0, or n of <c>!n</c>.</param>
/// <param name="Marks">The marks of the row, at least one.</param>
public sealed record MarkedRow(string Key, int Row, IReadOnlyList<int> Marks);
