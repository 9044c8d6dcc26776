using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <summary>The breaches, and which marks count.</summary>
/// <remarks>The rules of <see cref="IBreachDatabase"/> hold.</remarks>
public interface ICatalogue
{
    /// <summary>By name, without regard to case; null where there is none.</summary>
    Task<Breach?> GetBreachAsync(string name, CancellationToken cancellationToken);

    /// <summary>All breaches, by name, with the marks that count now: one state of both.</summary>
    Task<IReadOnlyList<Breach>> ListBreachesAsync(CancellationToken cancellationToken);

    /// <summary>What the catalogue is written from: its version and all breaches as they were at that version.</summary>
    Task<CatalogueSnapshot> ReadCatalogueAsync(CancellationToken cancellationToken);

    /// <summary>
    /// Changes breaches as a catalogue tells that is newer than the database, which was restored, and raises the catalogue's
    /// version: what was written before the restore would otherwise stay the newer one for good.
    /// </summary>
    /// <param name="version">The catalogue's version that <paramref name="breaches"/> were derived from.</param>
    /// <param name="atLeast">The version afterwards, at least.</param>
    /// <returns>False, and nothing is changed: the database has another version by now.</returns>
    Task<bool> MergeBreachesAsync(
        long version, IReadOnlyList<BreachMerge> breaches, long atLeast, CancellationToken cancellationToken);

    /// <summary>
    /// Lays a metadata document over what is known of a breach, under its row's lock: of two that merge at once
    /// both count. A document beside a dropped file takes no flag back (<see cref="BreachMetadata.Merge"/>); an
    /// operator's does.
    /// </summary>
    /// <exception cref="Errors.BadInputException">The document can't be read.</exception>
    /// <exception cref="Errors.NotPossibleException">No such breach.</exception>
    Task MergeMetadataAsync(string name, ReadOnlyMemory<byte> document, bool byOperator, CancellationToken cancellationToken);

    /// <summary>Takes a breach out of every lookup, or puts it back. False: no such breach.</summary>
    Task<bool> SetHiddenAsync(string name, bool hidden, CancellationToken cancellationToken);
}
