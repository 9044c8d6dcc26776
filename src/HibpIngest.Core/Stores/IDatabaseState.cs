namespace HibpIngest.Stores;

/// <summary>A database as a whole: schema, identity, that it is not older than the register, and locks between processes.</summary>
public interface IDatabaseState
{
    /// <summary>Server and database, or file, without secrets.</summary>
    string DisplayName { get; }

    /// <summary>Returns the schema version of the database (0: empty) and the one that this program requires.</summary>
    Task<(int Found, int Expected)> GetSchemaVersionAsync(CancellationToken cancellationToken);

    /// <summary>Applies the missing scripts in order, under a lock; does nothing on a current schema.</summary>
    /// <exception cref="Errors.StoreMismatchException">The schema is newer than the program.</exception>
    /// <exception cref="Errors.NotPossibleException">There are scripts to apply and a load is open: its partial work depends on the old
    /// schema.</exception>
    Task UpgradeAsync(CancellationToken cancellationToken);

    /// <summary>Returns a setting of the database that slows the work down without making it incorrect, with advice.</summary>
    /// <returns>Null if the settings are right.</returns>
    Task<(string Found, string Advice)?> CheckSetUpAsync(CancellationToken cancellationToken);

    /// <returns>Null if there is none yet.</returns>
    Task<StoreIdentity?> GetIdentityAsync(CancellationToken cancellationToken);

    /// <summary>Records the identity unless there is one; returns the effective one.</summary>
    Task<StoreIdentity> AddIdentityAsync(StoreIdentity identity, CancellationToken cancellationToken);
    Task<bool> HasLoadsAsync(CancellationToken cancellationToken);

    /// <summary>Returns the highest ids of loads and marks ever inserted; no removal lowers them.</summary>
    Task<StoreIds> GetHighestIdsAsync(CancellationToken cancellationToken);

    /// <summary>
    /// Makes a database restored from a backup current: ids up to these count as inserted, and every load with unsent mails is held with
    /// this reason, because some may have been sent after the backup.
    /// </summary>
    Task MoveOnAsync(StoreIds ids, string heldBecause, CancellationToken cancellationToken);

    /// <summary>Acquires a named lock until it is released or expires. The same owner may acquire it again.</summary>
    /// <returns>False if another owner holds it.</returns>
    Task<bool> TryLockAsync(string name, string owner, TimeSpan lease, CancellationToken cancellationToken);

    /// <summary>Releases a lock; does nothing if the owner no longer holds it.</summary>
    Task UnlockAsync(string name, string owner, CancellationToken cancellationToken);
}
