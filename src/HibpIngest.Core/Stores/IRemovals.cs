namespace HibpIngest.Stores;

/// <remarks>The rules of <see cref="IBreachDatabase"/> hold.</remarks>
public interface IRemovals
{
    /// <summary>
    /// Begins to remove a breach: all of its loads are listed for removal and unlisted for readers
    /// (<see cref="Breaches.Load.Removing"/> set, PublishedAt cleared, the breach's too), their notifications
    /// taken away, the catalogue's version raised. From then on no slice of theirs is begun, no mail of theirs
    /// is claimed, and they are neither resumed, requeued nor purged. A load that comes later isn't listed.
    /// Where loads of the breach are listed already, by a removal that was broken off, these are returned and
    /// nothing else is listed. A breach without any load is gone at once.
    /// </summary>
    /// <returns>The listed loads, oldest first; none: the breach is gone.</returns>
    /// <exception cref="Errors.NotPossibleException">
    /// No such breach, or one of its loads is open (neither done, failed nor held); nothing was listed.
    /// </exception>
    Task<IReadOnlyList<LoadRemoval>> BeginRemovalAsync(string breach, CancellationToken cancellationToken);

    /// <summary>Returns the loads that are listed for removal, with the names of their breaches, oldest first.</summary>
    Task<IReadOnlyList<(string Breach, LoadRemoval Load)>> ListRemovalsAsync(CancellationToken cancellationToken);

    /// <summary>Whether a slice of one of these loads has a living lease: it may still write.</summary>
    Task<bool> HasLivingSlicesAsync(IReadOnlyCollection<long> loads, CancellationToken cancellationToken);

    /// <summary>Records how far the table has been walked for a listed load.</summary>
    Task SetRemovalTokenAsync(long load, string token, CancellationToken cancellationToken);

    /// <summary>
    /// Ends the removal of a listed load: its slices, counts, notifications and itself, and its breach where it
    /// was the last; idempotent.
    /// </summary>
    Task FinishRemovalAsync(long load, CancellationToken cancellationToken);
}
