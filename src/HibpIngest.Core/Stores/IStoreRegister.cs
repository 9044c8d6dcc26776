namespace HibpIngest.Stores;

/// <summary>
/// State that must be readable without waking the database, in table <c>hibpstore</c>: the store's identity, open loads, receipts of blob
/// versions, marks of a stale catalogue, layouts, heartbeats, suppressions, opt-outs.
/// </summary>
public interface IStoreRegister : IWorkRegister, IReadLayout, IHeartbeats, ISuppressionLog, IOptOuts
{
    Task CreateAsync(CancellationToken cancellationToken);
    Task<StoreIdentity?> GetIdentityAsync(CancellationToken cancellationToken);

    /// <summary>Records the identity unless there is one; returns the effective one.</summary>
    Task<StoreIdentity> AddIdentityAsync(StoreIdentity identity, CancellationToken cancellationToken);

    /// <summary>Returns the next id for a load. Ids are never reused; gaps are normal.</summary>
    Task<LoadId> DrawLoadAsync(CancellationToken cancellationToken);

    /// <summary>Returns the next mark. Marks are never reused; gaps are normal.</summary>
    Task<int> DrawMarkAsync(CancellationToken cancellationToken);

    /// <summary>
    /// Returns the highest ids known to be in the database (0 if there are none), and whether a restored database is being made current.
    /// </summary>
    Task<(StoreIds Ids, bool MovingOn)> GetConfirmedAsync(CancellationToken cancellationToken);

    /// <summary>Records that a restored database is being made current, or no longer is; while it is, no host may start.</summary>
    Task SetMovingOnAsync(bool movingOn, CancellationToken cancellationToken);

    /// <summary>
    /// Records that ids up to these are in the database: raises the confirmed ids, and the drawn ids if they are lower; never lowers
    /// either. Writes nothing if nothing is raised.
    /// </summary>
    Task ConfirmAsync(StoreIds ids, CancellationToken cancellationToken);

    /// <summary>Returns all layouts by id, including dropped ones.</summary>
    Task<IReadOnlyList<StoreLayout>> ListLayoutsAsync(CancellationToken cancellationToken);

    /// <summary>Adds a layout, or raises its state (dropped is the highest); never lowers it.</summary>
    /// <exception cref="Errors.StoreMismatchException">There is a different layout with this id.</exception>
    Task PutLayoutAsync(StoreLayout layout, CancellationToken cancellationToken);

    /// <summary>Sets the layout that is read, unless one is set.</summary>
    Task AddReadLayoutAsync(int layout, CancellationToken cancellationToken);

    /// <returns>False if another switch came first: possibly neither of the two layouts is read.</returns>
    Task<bool> TrySwitchAsync(int from, int to, CancellationToken cancellationToken);
}

/// <summary>
/// Ties a database and an account table together, with the settings that can't change once accounts are written. Stored in both, and the
/// program refuses to run if they differ: property names in the table are the database's marks.
/// </summary>
/// <param name="PartitionSpread">Partitions per domain; 1 in this version.</param>
/// <param name="StorageAccounts">Storage accounts of the table; 1 in this version.</param>
public sealed record StoreIdentity(Guid Id, int PartitionSpread, int StorageAccounts);

/// <summary>The highest drawn, inserted or confirmed ids of loads and marks.</summary>
public sealed record StoreIds(long Load, int Mark);
