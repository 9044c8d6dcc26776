namespace HibpIngest.Stores;

/// <summary>
/// The SQL side: breaches, loads, rows, slices, subscribers, notifications, callbacks. Every method is one transaction
/// unless it says otherwise, is safe beside itself in other processes, and tells time by the database's clock.
/// Errors: <see cref="Errors.StoreUnavailableException"/> where trying again can help
/// (<see cref="Errors.StoreFullException"/> when out of room), <see cref="Errors.StoreRefusedException"/> where
/// the set-up must be mended. Tables and columns keep alias and domain as bytes of lower-case ASCII compared
/// bytewise.
/// </summary>
public interface IBreachDatabase :
    IDatabaseSetup, INamedLocks, ICatalogue, ISubscribers, ISuppressions, ILoads, IIngests, IRows, IArchivePasswords, ISlices, ILayouts,
        IRebuilds, ILoadLog, ILoadRecovery, IMatching, INotifications, ICallSlices, ICallbacks, IRemovals, IAsyncDisposable;
