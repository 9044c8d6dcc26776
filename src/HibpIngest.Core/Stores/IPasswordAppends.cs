namespace HibpIngest.Stores;

/// <summary>
/// What was sent to be added to Pwned Passwords: a row a transaction in table <c>passwordappends</c>, and its hashes as a blob in the
/// container of the same name. Errors as for <see cref="IBreachDatabase"/>.
/// </summary>
public interface IPasswordAppends
{
    const string Name = "passwordappends";

    /// <summary>Creates table and container where they are missing.</summary>
    Task CreateAsync(CancellationToken cancellationToken);

    /// <summary>Writes a transaction's hashes; before its row, so that no row is without.</summary>
    Task WriteRowsAsync(Guid id, ReadOnlyMemory<byte> rows, CancellationToken cancellationToken);

    /// <summary>Part of a transaction's hashes; null where they are gone.</summary>
    /// <param name="length">How many; there are that many.</param>
    Task<ReadOnlyMemory<byte>?> ReadRowsAsync(Guid id, long offset, int length, CancellationToken cancellationToken);

    Task AddAsync(AppendTransaction transaction, CancellationToken cancellationToken);

    /// <summary>A subscription's transaction; null where it has none of that id.</summary>
    Task<AppendTransaction?> FindAsync(string subscription, Guid id, CancellationToken cancellationToken);

    /// <summary>Writes a transaction in place of the version that was read (If-Match).</summary>
    /// <returns>As it is now; null where somebody else has changed it since, or it is gone.</returns>
    Task<AppendTransaction?> UpdateAsync(AppendTransaction transaction, CancellationToken cancellationToken);

    IAsyncEnumerable<AppendTransaction> ListAsync(CancellationToken cancellationToken);

    /// <summary>Deletes a transaction that is still this version, then its hashes; false where it has changed since, or is gone.</summary>
    Task<bool> DeleteAsync(AppendTransaction transaction, CancellationToken cancellationToken);
}
