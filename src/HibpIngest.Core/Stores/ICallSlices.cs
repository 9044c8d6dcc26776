using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <summary>
/// Which slices are to be looked through for what clients watch: those of a load while it sends. That is, it is notifying or done (or
/// failed in sending its mails), and its breach isn't hidden.
/// </summary>
/// <remarks>The rules of <see cref="IBreachDatabase"/> hold.</remarks>
public interface ICallSlices
{
    /// <summary>
    /// A slice of a load whose clients are to be called and that sends; null: there is none, or its load was replaced, is removed, or
    /// doesn't send now.
    /// </summary>
    Task<CallSlice?> FindCallSliceAsync(long load, int slice, CancellationToken cancellationToken);

    /// <summary>The load's slices that were not looked through yet, in order; none of a load that is not to be called of now.</summary>
    Task<IReadOnlyList<Slice>> ListCallSlicesAsync(long load, CancellationToken cancellationToken);

    /// <summary>The messages of these slices were sent.</summary>
    Task MarkCallMessagesSentAsync(long load, CancellationToken cancellationToken);

    /// <summary>Records why a load's slices can't be looked through.</summary>
    /// <param name="failed">Trying again can't help: they are left until <see cref="RetryCallSlicesAsync"/>.</param>
    Task SetCallErrorAsync(long load, string error, bool failed, CancellationToken cancellationToken);

    /// <summary>Has the slices of a load that failed looked through again.</summary>
    Task RetryCallSlicesAsync(long load, CancellationToken cancellationToken);

    /// <summary>
    /// A slice was looked through: its deliveries are recorded, with the load's end of looking through where it was the last one.
    /// </summary>
    /// <param name="calls">Of each client that has any, how many.</param>
    /// <returns>The clients that a message is to be sent for; null: nothing was recorded, as it had been before, or its load is not to be
    /// called of any more.</returns>
    Task<IReadOnlyList<int>?> RecordCallSliceAsync(
        long load, int slice, IReadOnlyDictionary<int, int> calls, CancellationToken cancellationToken);
}
