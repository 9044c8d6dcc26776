namespace HibpIngest.Stores;

/// <summary>The identity of the stores, and the ids that are given.</summary>
public interface IStoreIds
{
    /// <summary>Creates the table where it is missing.</summary>
    Task CreateAsync(CancellationToken cancellationToken);

    Task<StoreIdentity?> GetIdentityAsync(CancellationToken cancellationToken);

    /// <summary>Records the identity unless there is one; returns the one that counts.</summary>
    Task<StoreIdentity> AddIdentityAsync(StoreIdentity identity, CancellationToken cancellationToken);

    /// <summary>The next id for a load, never given before nor again; gaps are normal.</summary>
    Task<long> DrawLoadAsync(CancellationToken cancellationToken);

    /// <summary>The next mark, never given before nor again; gaps are normal.</summary>
    Task<int> DrawMarkAsync(CancellationToken cancellationToken);

    /// <summary>
    /// Up to which ids are known to be in the database, both 0 where none is; and whether a restored database
    /// is being moved on.
    /// </summary>
    Task<(StoreIds Ids, bool MovingOn)> GetConfirmedAsync(CancellationToken cancellationToken);

    /// <summary>Notes that a restored database is being moved on, or is no longer: until then no host may start on it.</summary>
    Task SetMovingOnAsync(bool movingOn, CancellationToken cancellationToken);

    /// <summary>
    /// Ids up to these are in the database: raises what is confirmed, and what is drawn where it lags behind;
    /// never lowers either. Costs no write where nothing is raised.
    /// </summary>
    Task ConfirmAsync(StoreIds ids, CancellationToken cancellationToken);
}
