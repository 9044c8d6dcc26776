using HibpIngest.Accounts;

namespace HibpIngest.Stores;

/// <summary>The copied rows of a load.</summary>
/// <remarks>The rules in <see cref="IBreachDatabase"/> apply.</remarks>
public interface IRows
{
    /// <summary>
    /// Fills <paramref name="into"/> (cleared first) with the rows of these positions in order, up to its capacity, and sets
    /// its FirstPosition. One range scan.
    /// </summary>
    Task ReadRowsAsync(long load, long first, long last, AccountBatch into, CancellationToken cancellationToken);

    /// <summary>
    /// Deletes at most <paramref name="chunkRows"/> rows of a done or failed load. From the first chunk on, the load can't be
    /// resumed or requeued.
    /// </summary>
    /// <param name="requireLogged">Delete the first chunk only if the load doesn't count, or is in the account log.</param>
    /// <returns>The number of deleted rows; 0: the load is marked as purged.</returns>
    /// <exception cref="Errors.NotPossibleException">No such load, or it is still open, or not logged.</exception>
    Task<int> PurgeRowsAsync(long load, int chunkRows, CancellationToken cancellationToken, bool requireLogged = false);

    /// <summary>
    /// Deletes the rows of a listed load up to this position, after their entities were processed. Does nothing for a load that
    /// isn't listed.
    /// </summary>
    /// <returns>The number of deleted rows.</returns>
    Task<int> DeleteRowsUpToAsync(long load, long position, CancellationToken cancellationToken);
}
