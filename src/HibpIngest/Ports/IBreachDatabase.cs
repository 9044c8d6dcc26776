using HibpIngest.Breaches;

namespace HibpIngest.Ports;

/// <summary>
/// The SQL side: breaches, loads, rows, slices, subscribers, notifications. Every method is one transaction unless it says otherwise, is safe beside itself in
/// other processes, and tells time by the database's clock. Errors: <see cref="Errors.StoreUnavailableException"/> where trying again can help
/// (<see cref="Errors.StoreFullException"/> when out of room), <see cref="Errors.StoreRefusedException"/> where the set-up must be mended.
/// Tables and columns keep alias and domain as bytes of lower-case ASCII compared bytewise.
/// </summary>
public partial interface IBreachDatabase : IAsyncDisposable
{
    /// <summary>What the operator knows it by (server and database, or file), without secrets.</summary>
    string DisplayName { get; }

    /// <summary>Version of the schema in the database (0: empty) and the one this program is made for.</summary>
    Task<(int Found, int Expected)> GetSchemaVersionAsync(CancellationToken cancellationToken);

    /// <summary>Applies the scripts that are missing, in order, under a lock; does nothing on a current schema.</summary>
    /// <exception cref="Errors.StoreMismatchException">The schema is newer than the program.</exception>
    /// <exception cref="Errors.NotPossibleException">There is something to apply and a load is open: what it does half-way belongs to the old schema.</exception>
    Task UpgradeAsync(CancellationToken cancellationToken);

    /// <summary>What about the database's set-up hinders the work, without keeping it from being right, and what to do about it; null: nothing.</summary>
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
    /// Moves a database that was restored from a backup on: ids up to these count as inserted, and every load whose mails are not out yet is held with this reason, because some may have gone out since.
    /// </summary>
    Task MoveOnAsync(StoreIds ids, string heldBecause, CancellationToken cancellationToken);

    /// <summary>Takes a named lock until it is released or expires; false when another owner has it. The same owner may take it again.</summary>
    Task<bool> TryLockAsync(string name, string owner, TimeSpan lease, CancellationToken cancellationToken);

    /// <summary>Gives a lock back; nothing happens when the owner no longer has it.</summary>
    Task UnlockAsync(string name, string owner, CancellationToken cancellationToken);
}
