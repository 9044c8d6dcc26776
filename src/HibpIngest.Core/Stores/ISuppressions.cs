using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <summary>Who is not to be told, whatever is imported, in the database.</summary>
/// <remarks>The rules of <see cref="IBreachDatabase"/> hold.</remarks>
public interface ISuppressions
{
    /// <summary>The <see cref="SuppressionKey.Check"/> of the key that suppressions were made under; null: there never was one.</summary>
    Task<string?> GetSuppressionCheckAsync(CancellationToken cancellationToken);

    /// <summary>All of them, in no order.</summary>
    Task<IReadOnlyList<Suppression>> ListSuppressionsAsync(CancellationToken cancellationToken);

    /// <summary>
    /// Takes subscriptions away with their notifications, sent or not, and records their suppressions (a later one of the
    /// same hash counts).
    /// </summary>
    /// <param name="check">That of the key that the suppressions were made under; null: there are none.</param>
    /// <param name="erase">Leaves nothing of them in the database's file, as far as that is this program's to do.</param>
    /// <exception cref="Errors.StoreMismatchException">Others were made under another key.</exception>
    Task<SubscribersRemoved> RemoveSubscribersAsync(
        IReadOnlyCollection<SubscriberRemoval> removals, string? check, bool erase, CancellationToken cancellationToken);

    /// <summary>
    /// Records suppressions, and takes away what subscriptions they name, with their notifications: in one transaction, beside which
    /// nobody subscribes. A hash names nobody, so that every subscriber is looked at.
    /// </summary>
    /// <param name="those">Some 10,000 at most: each is a statement or two.</param>
    /// <param name="key">Under which they were made.</param>
    /// <param name="erase">As in <see cref="RemoveSubscribersAsync"/>.</param>
    /// <exception cref="Errors.StoreMismatchException">Others were made under another key.</exception>
    Task<SubscribersRemoved> ApplySuppressionsAsync(
        IReadOnlyCollection<Suppression> those, SuppressionKey key, bool erase, CancellationToken cancellationToken);

    /// <summary>Forgets suppressions, as the person wishes.</summary>
    Task LiftSuppressionsAsync(IReadOnlyCollection<string> hashes, CancellationToken cancellationToken);
}
