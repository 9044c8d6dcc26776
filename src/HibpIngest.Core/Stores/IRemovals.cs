namespace HibpIngest.Stores;

/// <remarks>The rules in <see cref="IBreachDatabase"/> apply.</remarks>
public interface IRemovals
{
    /// <summary>
    /// Starts to remove a breach: lists all its loads for removal and hides them from readers (sets
    /// <see cref="Breaches.Load.Removing"/>, clears their PublishedAt and the breach's), deletes their notifications, and
    /// raises the catalogue's version. From then on, none of their slices is started, none of their mails is claimed, and they
    /// can't be resumed, requeued or purged. A load that is added later isn't listed. If an interrupted removal has already
    /// listed loads of the breach, these are returned and nothing else is listed. A breach without loads is deleted at once.
    /// </summary>
    /// <returns>The listed loads, oldest first; none: the breach is deleted.</returns>
    /// <exception cref="Errors.NotPossibleException">No such breach, or one of its loads is open (neither done, failed nor
    /// held); nothing was listed.</exception>
    Task<IReadOnlyList<LoadRemoval>> BeginRemovalAsync(string breach, CancellationToken cancellationToken);

    /// <summary>Returns the loads that are listed for removal, with the names of their breaches, oldest first.</summary>
    Task<IReadOnlyList<(string Breach, LoadRemoval Load)>> ListRemovalsAsync(CancellationToken cancellationToken);

    /// <summary>Returns whether a slice of one of these loads has a live lease, so that it may still write.</summary>
    Task<bool> HasLivingSlicesAsync(IReadOnlyCollection<long> loads, CancellationToken cancellationToken);

    /// <summary>Records how far the table has been scanned for a listed load.</summary>
    Task SetRemovalTokenAsync(long load, string token, CancellationToken cancellationToken);

    /// <summary>
    /// Completes the removal of a listed load: deletes its slices, counts, notifications and the load itself, and its breach if
    /// it was the last load. Idempotent.
    /// </summary>
    Task FinishRemovalAsync(long load, CancellationToken cancellationToken);
}
