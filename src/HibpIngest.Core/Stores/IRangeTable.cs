namespace HibpIngest.Stores;

/// <summary>
/// Hashes of accounts in Table Storage: PartitionKey = the first two hex digits of the SHA-1 of the address,
/// RowKey = the other 38 (or those with <c>!n</c> for marks above 250 n), upper-case, a property <c>b{mark}</c>
/// = true per load, as in the account table. Errors as for <see cref="IBreachDatabase"/>; messages never hold a
/// key.
/// </summary>
public interface IRangeTable : IRangeReads
{
    /// <summary>Creates the table where it is missing.</summary>
    Task CreateAsync(CancellationToken cancellationToken);

    /// <summary>Deletes the table, and all that is in it; one that is missing may be.</summary>
    Task DropAsync(CancellationToken cancellationToken);

    /// <summary>
    /// Sets a mark on hashes of one partition: one entity group transaction, as
    /// <see cref="IAccountTable.UpsertAsync"/> does it.
    /// </summary>
    /// <param name="rows">The other 38, in <paramref name="bytes"/> at these ranges.</param>
    /// <param name="bytes">Holds the digits; not kept after the call.</param>
    /// <param name="mark">1 and up.</param>
    Task UpsertAsync(
        ReadOnlyMemory<byte> partition, ReadOnlyMemory<Range> rows, ReadOnlyMemory<byte> bytes, int mark, TransactionsInFlight inFlight,
        CancellationToken cancellationToken);

    /// <inheritdoc cref="IAccountTable.MergeAsync"/>
    Task MergeAsync(ReadOnlyMemory<byte> partition, MarkedRows rows, CancellationToken cancellationToken);

    /// <summary>
    /// Takes a mark off hashes of one partition, as <see cref="IAccountTable.RemoveMarkAsync(string,
    /// IReadOnlyCollection{string}, int, CancellationToken)"/> does.
    /// </summary>
    Task<int> RemoveMarkAsync(string partition, IReadOnlyCollection<string> rows, int mark, CancellationToken cancellationToken);

    /// <summary>The same for the next hashes that have the mark of one of the table's <see cref="Parts"/>.</summary>
    Task<MarkPage> RemoveMarkAsync(int mark, int part, string? token, CancellationToken cancellationToken);

    /// <summary>Parts that the table is walked in: hashes by their first digit.</summary>
    const int Parts = 16;
}

/// <summary>A row of a table of marks.</summary>
/// <param name="Key">Of the first of its rows.</param>
/// <param name="Row">Which of them: 0, or n of <c>!n</c>.</param>
/// <param name="Marks">Those it has, at least one.</param>
public sealed record MarkedRow(string Key, int Row, IReadOnlyList<int> Marks);
