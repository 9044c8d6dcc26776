using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <remarks>The rules of <see cref="IBreachDatabase"/> hold.</remarks>
public interface ISubscribers
{
    /// <summary>
    /// Adds those that are new (email and domain unique after trimming and lower-casing) and not suppressed.
    /// </summary>
    /// <param name="key">Of suppressions; needed where there are any.</param>
    /// <exception cref="Errors.NotPossibleException">There are suppressions, and no key.</exception>
    /// <exception cref="Errors.StoreMismatchException">They were made under another key.</exception>
    Task<SubscribersImported> ImportSubscribersAsync(
        IReadOnlyCollection<Subscription> subscriptions, SuppressionKey? key, CancellationToken cancellationToken);

    /// <summary>All subscriptions, by email and domain.</summary>
    IAsyncEnumerable<Subscription> ListSubscribersAsync(CancellationToken cancellationToken);
}
