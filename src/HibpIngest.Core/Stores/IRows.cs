using HibpIngest.Accounts;

namespace HibpIngest.Stores;

/// <summary>A load's rows, once they are copied.</summary>
/// <remarks>The rules of <see cref="IBreachDatabase"/> hold.</remarks>
public interface IRows
{
    /// <summary>
    /// Fills <paramref name="into"/> (cleared first) with the rows of these positions in order, at most its
    /// capacity; sets its FirstPosition. One range scan.
    /// </summary>
    Task ReadRowsAsync(long load, long first, long last, AccountBatch into, CancellationToken cancellationToken);

    /// <summary>
    /// Takes at most <paramref name="chunkRows"/> rows of a done or failed load away; returns how many; on 0
    /// the load is marked purged. From the first chunk on it is neither resumed nor requeued.
    /// </summary>
    /// <param name="requireLogged">The first chunk goes only where the load doesn't count, or the account log tells of it.</param>
    /// <exception cref="Errors.NotPossibleException">No such load, or it is still open, or not logged.</exception>
    Task<int> PurgeRowsAsync(long load, int chunkRows, CancellationToken cancellationToken, bool requireLogged = false);

    /// <summary>
    /// The entities of a listed load's rows up to this position are done: takes those rows away, and returns
    /// how many there were. Nothing of a load that isn't listed.
    /// </summary>
    Task<int> DeleteRowsUpToAsync(long load, long position, CancellationToken cancellationToken);
}
