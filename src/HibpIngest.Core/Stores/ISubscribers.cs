using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <remarks>The rules in <see cref="IBreachDatabase"/> apply.</remarks>
public interface ISubscribers
{
    /// <summary>Adds subscriptions that are new (email and domain are unique after trimming and lower-casing) and not suppressed.</summary>
    /// <param name="key">The key of the suppressions; required if there are any.</param>
    /// <exception cref="Errors.NotPossibleException">There are suppressions, and no key.</exception>
    /// <exception cref="Errors.StoreMismatchException">The suppressions were made under another key.</exception>
    Task<SubscribersImported> ImportSubscribersAsync(
        IReadOnlyCollection<Subscription> subscriptions, SuppressionKey? key, CancellationToken cancellationToken);

    /// <summary>Returns all subscriptions by email and domain.</summary>
    IAsyncEnumerable<Subscription> ListSubscribersAsync(CancellationToken cancellationToken);
}
