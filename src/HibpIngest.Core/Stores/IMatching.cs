namespace HibpIngest.Stores;

public interface IMatching
{
    /// <summary>
    /// Changes upserting to matching (MatchedPosition 0, UpsertedAt now) if every slice is done, in a statement of its own.
    /// </summary>
    /// <returns>True for the one caller that changed the state.</returns>
    Task<bool> TryStartMatchingAsync(long load, CancellationToken cancellationToken);

    /// <summary>
    /// Returns a held load that was not published (<see cref="HoldReason.NotPublished"/>) to matching without a hold: the end of its match
    /// runs again and publishes it.
    /// </summary>
    /// <returns>False in any other case.</returns>
    Task<bool> ReleaseUnpublishedAsync(long load, CancellationToken cancellationToken);

    /// <summary>
    /// Matches the rows in (<paramref name="after"/>, <paramref name="upTo"/>], set-based: creates notifications for individual subscribers
    /// (one per kind, subscriber, domain and breach, ever), and adds the number of rows per subscribed domain to the load's counts.
    /// Subscriptions made after matching started are skipped: they would see only part of the rows. If an older load of the same blob name
    /// that is not matched yet has an open notification for a matched subscriber, this load takes it over. Begins with <c>UPDATE loads SET
    /// matched_position = @upTo WHERE id = @load AND matched_position = @after AND state = 'matching'</c>. Counts as progress (attempts 0).
    /// </summary>
    /// <param name="after">End of the previous range.</param>
    /// <param name="lease">If the load is leased, its lease is renewed for this long at the end: the range may have outlasted it.</param>
    /// <returns>False if that update changed no row: nothing was done.</returns>
    Task<bool> MatchRowsAsync(long load, long after, long upTo, TimeSpan lease, CancellationToken cancellationToken);

    /// <summary>
    /// Does the next step of finishing a match, if the load is in state matching and matched to its last position. Each step is one
    /// transaction over at most as many rows as <paramref name="end"/> allows, is recorded, and counts as progress. The steps: exact
    /// account and domain counts if duplicates were possible; take-over of unsent notifications from failed loads of the breach (if one was
    /// held, this load is held too); domain notifications; numbering of notifications that have no number. The last step is one
    /// transaction: it merges the metadata document, publishes the load in place of older ones of the same blob name, and sets the state to
    /// held (by its metadata, by <see cref="MatchEnd.Hold"/>, or because of a take-over), notifying, or done if there is nothing to send.
    /// Open notifications are deleted if the breach is retired, or if a newer load of the same blob name is published: this load is then
    /// done, unpublished, and replaced by that one.
    /// </summary>
    /// <returns>The state after the step: matching if there are more steps. Null: the load was in another state.</returns>
    /// <exception cref="Errors.BadInputException">The metadata document can't be read.</exception>
    Task<LoadState?> FinishMatchingAsync(long load, MatchEnd end, CancellationToken cancellationToken);
}

/// <param name="Metadata">The breach's metadata document, read again; null: there is none that applies to this breach.</param>
/// <param name="Hold">Hold the mails for an operator, even if the document doesn't ask for it.</param>
/// <param name="HeldBecause">Hold the mails, with a reason that is recorded in the load.</param>
public sealed record MatchEnd(ReadOnlyMemory<byte>? Metadata, bool Hold, string? HeldBecause = null)
{
    /// <summary>
    /// Maximum number of notifications (and subscriptions checked) per step: takes some seconds, with a transaction log that fits every
    /// tier.
    /// </summary>
    public int StepRows { get; init; } = 50_000;

    /// <summary>
    /// Accounts sorted by one step of an exact count; each step reads the whole load. 20 million take some GB of a server's temporary
    /// space.
    /// </summary>
    public long CountRows { get; init; } = 20_000_000;

    /// <summary>Clients must be called for the load.</summary>
    public bool CallsClients { get; init; }

    /// <summary>If the load is leased, its lease is renewed for this long at the end of each step.</summary>
    public TimeSpan Lease { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>Returns the number of parts for an exact count of this many rows.</summary>
    public int CountParts(long rows) => (int)Math.Clamp((rows + CountRows - 1) / CountRows, 1, MaxCountParts);

    /// <summary>The part of an account depends on some of its characters, which yield no more parts than this.</summary>
    private const int MaxCountParts = 1_000;

    /// <summary>Returns whether a load with this metadata waits for an operator.</summary>
    public bool Holds(BreachMetadata metadata) => Hold || metadata.Notify == NotifyMode.Hold;
}
