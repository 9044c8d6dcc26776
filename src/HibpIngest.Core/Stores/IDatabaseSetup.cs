namespace HibpIngest.Stores;

/// <summary>What a host asks of a database before it works with it: schema, identity, and that it is not behind.</summary>
/// <remarks>The rules of <see cref="IBreachDatabase"/> hold.</remarks>
public interface IDatabaseSetup
{
    /// <summary>What the operator knows it by (server and database, or file), without secrets.</summary>
    string DisplayName { get; }

    /// <summary>Version of the schema in the database (0: empty) and the one this program is made for.</summary>
    Task<(int Found, int Expected)> GetSchemaVersionAsync(CancellationToken cancellationToken);

    /// <summary>Applies the scripts that are missing, in order, under a lock; does nothing on a current schema.</summary>
    /// <exception cref="Errors.StoreMismatchException">The schema is newer than the program.</exception>
    /// <exception cref="Errors.NotPossibleException">There is something to apply and a load is open: what it
    /// does half-way belongs to the old schema.</exception>
    Task UpgradeAsync(CancellationToken cancellationToken);

    /// <summary>
    /// What about the database's set-up hinders the work, without keeping it from being right, and what to do
    /// about it; null: nothing.
    /// </summary>
    Task<(string Found, string Advice)?> CheckSetUpAsync(CancellationToken cancellationToken);

    /// <summary>The identity recorded in the database; null where there is none yet.</summary>
    Task<StoreIdentity?> GetIdentityAsync(CancellationToken cancellationToken);

    /// <summary>Records the identity unless there is one; returns the one that counts.</summary>
    Task<StoreIdentity> AddIdentityAsync(StoreIdentity identity, CancellationToken cancellationToken);

    /// <summary>Whether any load was ever recorded.</summary>
    Task<bool> HasLoadsAsync(CancellationToken cancellationToken);

    /// <summary>The highest ids of loads and marks ever inserted; no removal lowers them.</summary>
    Task<StoreIds> GetHighestIdsAsync(CancellationToken cancellationToken);

    /// <summary>
    /// Moves a database that was restored from a backup on: ids up to these count as inserted, and every load
    /// whose mails are not out yet is held with this reason, because some may have gone out since.
    /// </summary>
    Task MoveOnAsync(StoreIds ids, string heldBecause, CancellationToken cancellationToken);
}
