namespace HibpIngest.Stores;

/// <summary>Subscriptions, and suppressions: addresses that must not be notified, even if they are imported again.</summary>
public interface ISubscribers
{
    /// <summary>Adds subscriptions that are new (email and domain are unique after trimming and lower-casing) and not suppressed.</summary>
    /// <param name="key">The key of the suppressions; required if there are any.</param>
    /// <exception cref="Errors.NotPossibleException">There are suppressions, and no key.</exception>
    /// <exception cref="Errors.StoreMismatchException">The suppressions were made under another key.</exception>
    Task<SubscribersImported> ImportSubscribersAsync(
        IReadOnlyCollection<Subscription> subscriptions, SuppressionKey? key, CancellationToken cancellationToken);

    /// <summary>Returns all subscriptions, ordered by email and domain.</summary>
    IAsyncEnumerable<Subscription> ListSubscribersAsync(CancellationToken cancellationToken);

    /// <summary>Returns the <see cref="SuppressionKey.Check"/> of the key that the suppressions were made under.</summary>
    /// <returns>Null if there never was a suppression.</returns>
    Task<string?> GetSuppressionKeyCheckAsync(CancellationToken cancellationToken);

    /// <summary>Returns all suppressions, unordered.</summary>
    Task<IReadOnlyList<Suppression>> ListSuppressionsAsync(CancellationToken cancellationToken);

    /// <summary>Returns the suppressions of these hashes.</summary>
    Task<IReadOnlyList<Suppression>> FindSuppressionsAsync(IReadOnlyCollection<string> hashes, CancellationToken cancellationToken);

    /// <summary>
    /// Deletes subscriptions with their notifications, sent or not, and records their suppressions (a later one of the same hash replaces
    /// an earlier one). Unconfirmed requests for the removed subscriptions are deleted too.
    /// </summary>
    /// <param name="check">Check of the key that the suppressions were made under; null if there are no suppressions.</param>
    /// <param name="erase">Also erase the deleted data from the database's file, as far as this program can.</param>
    /// <exception cref="Errors.StoreMismatchException">Existing suppressions were made under another key.</exception>
    Task<SubscribersRemoved> RemoveSubscribersAsync(
        IReadOnlyCollection<SubscriberRemoval> removals, string? check, bool erase, CancellationToken cancellationToken);

    /// <summary>
    /// Records suppressions, and deletes the subscriptions that they match, with their notifications, in one transaction that excludes
    /// concurrent subscriptions. A hash can't be reversed, so every subscriber is checked.
    /// </summary>
    /// <param name="suppressions">Some 10,000 at most: each takes one or two statements.</param>
    /// <param name="key">The key that they were made under.</param>
    /// <param name="erase">The same as in <see cref="RemoveSubscribersAsync"/>.</param>
    /// <exception cref="Errors.StoreMismatchException">Existing suppressions were made under another key.</exception>
    Task<SubscribersRemoved> ApplySuppressionsAsync(
        IReadOnlyCollection<Suppression> suppressions, SuppressionKey key, bool erase, CancellationToken cancellationToken);

    /// <summary>Deletes suppressions, at the person's request.</summary>
    Task LiftSuppressionsAsync(IReadOnlyCollection<string> hashes, CancellationToken cancellationToken);
}

/// <param name="Suppressed">Subscriptions skipped because they are suppressed.</param>
public readonly record struct SubscribersImported(int Added, int Suppressed);

/// <param name="Notifications">Deleted notifications, sent or not.</param>
public readonly record struct SubscribersRemoved(int Subscriptions, int Notifications);
