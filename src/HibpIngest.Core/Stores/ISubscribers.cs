using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <summary>Who asked to be told.</summary>
/// <remarks>The rules of <see cref="IBreachDatabase"/> hold.</remarks>
public interface ISubscribers
{
    /// <summary>
    /// Adds those that are new (email and domain unique after trimming and lower-casing); returns how many
    /// were.
    /// </summary>
    Task<int> ImportSubscribersAsync(IReadOnlyCollection<Subscription> subscriptions, CancellationToken cancellationToken);

    /// <summary>All subscriptions, by email and domain.</summary>
    IAsyncEnumerable<Subscription> ListSubscribersAsync(CancellationToken cancellationToken);
}
