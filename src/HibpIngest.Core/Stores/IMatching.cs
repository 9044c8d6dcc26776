using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <remarks>The rules of <see cref="IBreachDatabase"/> hold.</remarks>
public interface IMatching
{
    /// <summary>
    /// The completion statement: upserting becomes matching (MatchedPosition 0, UpsertedAt now) where no slice
    /// is undone, in a statement of its own. True for the one caller that changed it.
    /// </summary>
    Task<bool> TryStartMatchingAsync(long load, CancellationToken cancellationToken);

    /// <summary>
    /// Returns a held load that was not published (<see cref="HoldReason.NotPublished"/>) to matching, nothing holding it any more:
    /// its match ends again, and publishes it. False in any other case.
    /// </summary>
    Task<bool> ReleaseUnpublishedAsync(long load, CancellationToken cancellationToken);

    /// <summary>
    /// Matches the rows in (<paramref name="after"/>, <paramref name="upTo"/>], set-based: notifications for
    /// individual subscribers (one per kind, subscriber, domain and breach, ever), and per subscribed domain
    /// the number of rows, added to the load's. Subscriptions made since matching started are passed over: they
    /// would see a part of the rows only. What an older load of the same blob name has found and not told, and
    /// is not matched itself yet, is this one's. Begins with <c>UPDATE loads SET matched_position = @upTo WHERE
    /// id = @load AND matched_position = @after AND state = 'matching'</c>; false and nothing done where no row
    /// changed. The load has got on (attempts 0).
    /// </summary>
    /// <param name="after">Where the range before it ended.</param>
    /// <param name="lease">The load's lease lasts so long from the end on, where somebody holds it: the range may
    /// have taken longer than it.</param>
    Task<bool> MatchRowsAsync(long load, long after, long upTo, TimeSpan lease, CancellationToken cancellationToken);

    /// <summary>
    /// Does the next step of the end of matching, where the load is in state matching and matched to its last
    /// position; each is one transaction over at most so many rows as
    /// <paramref name="end"/> says, is recorded, and counts as getting on. The steps: exact account and domain counts
    /// where duplicates were possible; what failed loads of the breach had yet to
    /// send is taken over (from one that was held: this one is then held too); domain notifications; those without a
    /// number get the next ones, the others keep theirs. The last step ends it in
    /// one transaction: the metadata document is merged, the load is published in the place of older ones of the same
    /// blob name, and its state is held (by its metadata, by
    /// <see cref="MatchEnd.Hold"/>, or because of what it took over), notifying, or done when there is nothing to
    /// send. A retired breach sends nothing: the load's open notifications are taken
    /// away. So they are where a newer load of the same blob name is published already: this one is then done,
    /// unpublished, replaced by that one.
    /// </summary>
    /// <returns>The state behind the step: matching while there are more. Null where the load was in no state for it.</returns>
    /// <exception cref="Errors.BadInputException">The metadata document can't be read.</exception>
    Task<LoadState?> FinishMatchingAsync(long load, MatchEnd end, CancellationToken cancellationToken);
}
