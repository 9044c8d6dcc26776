using HibpIngest.Breaches;

namespace HibpIngest.Ports;

public partial interface IBreachDatabase
{
    /// <summary>By name, without regard to case; null where there is none.</summary>
    Task<Breach?> GetBreachAsync(string name, CancellationToken cancellationToken);

    /// <summary>All breaches, by name, with the marks that count now: one state of both.</summary>
    Task<IReadOnlyList<Breach>> ListBreachesAsync(CancellationToken cancellationToken);

    /// <summary>
    /// Lays a metadata document over what is known of a breach, under its row's lock: of two that merge at once both count. A document beside a zip takes no flag back
    /// (<see cref="BreachMetadata.Merge"/>); an operator's does.
    /// </summary>
    /// <exception cref="Errors.BadInputException">The document can't be read.</exception>
    /// <exception cref="Errors.NotPossibleException">No such breach.</exception>
    Task MergeMetadataAsync(string name, ReadOnlyMemory<byte> document, bool byOperator, CancellationToken cancellationToken);

    /// <summary>Takes a breach out of every lookup, or puts it back. False: no such breach.</summary>
    Task<bool> SetHiddenAsync(string name, bool hidden, CancellationToken cancellationToken);

    /// <summary>Adds those that are new (email and domain unique after trimming and lower-casing); returns how many were.</summary>
    Task<int> ImportSubscribersAsync(IReadOnlyCollection<Subscription> subscriptions, CancellationToken cancellationToken);

    /// <summary>All subscriptions, by email and domain.</summary>
    IAsyncEnumerable<Subscription> ListSubscribersAsync(CancellationToken cancellationToken);
}
