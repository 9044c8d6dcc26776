namespace HibpIngest.Stores;

/// <summary>
/// Hashes submitted for Pwned Passwords: one row per transaction in table <c>passwordappends</c>, and its hashes in a blob in the container
/// of the same name. Errors are those of <see cref="IBreachDatabase"/>.
/// </summary>
public interface IPasswordAppends
{
    const string Name = "passwordappends";
    Task CreateAsync(CancellationToken cancellationToken);

    /// <summary>Writes the hashes of a transaction. Call it before the row is added, so that no row lacks its hashes.</summary>
    Task WriteRowsAsync(Guid id, ReadOnlyMemory<byte> rows, CancellationToken cancellationToken);

    /// <summary>Returns part of the hashes of a transaction.</summary>
    /// <param name="length">Number of bytes, all of which must exist.</param>
    /// <returns>Null if the hashes were deleted.</returns>
    Task<ReadOnlyMemory<byte>?> ReadRowsAsync(Guid id, long offset, int length, CancellationToken cancellationToken);
    Task AddAsync(AppendTransaction transaction, CancellationToken cancellationToken);

    /// <returns>Null if it has none with that id.</returns>
    Task<AppendTransaction?> FindAsync(string submitter, Guid id, CancellationToken cancellationToken);

    /// <summary>Replaces the version of a transaction that was read (If-Match).</summary>
    /// <returns>The new version; null if the transaction was changed or deleted by another writer.</returns>
    Task<AppendTransaction?> UpdateAsync(AppendTransaction transaction, CancellationToken cancellationToken);
    IAsyncEnumerable<AppendTransaction> ListAsync(CancellationToken cancellationToken);

    /// <summary>Deletes a transaction if it still is this version, then its hashes.</summary>
    /// <returns>False if it was changed or deleted by another writer.</returns>
    Task<bool> DeleteAsync(AppendTransaction transaction, CancellationToken cancellationToken);
}
