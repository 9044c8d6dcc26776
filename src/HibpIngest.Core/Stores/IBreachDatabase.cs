namespace HibpIngest.Stores;

/// <summary>
/// The SQL store: breaches, loads, rows, slices, subscribers, notifications, callbacks. Unless stated otherwise, every method is one
/// transaction, is safe to run concurrently in several processes, and uses the database's clock. Throws
/// <see cref="Errors.UnavailableException"/> if a retry can help (<see cref="Errors.StoreFullException"/> if there is no space left),
/// and <see cref="Errors.StoreRefusedException"/> if the configuration must be fixed. Alias and domain are stored as lower-case ASCII bytes
/// and compared bytewise. These rules apply to each of its interfaces.
/// </summary>
public interface IBreachDatabase :
    IDatabaseState, ICatalogue, ISubscribers, ISubscriptionRequests, ILoads, ILoadRows, ISlices, ILayouts, INotifications, ICallbacks,
    IAsyncDisposable;
