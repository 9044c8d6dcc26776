using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <summary>The breaches, and the marks that count.</summary>
/// <remarks>The rules in <see cref="IBreachDatabase"/> apply.</remarks>
public interface ICatalogue
{
    /// <summary>Returns a breach by name, ignoring case.</summary>
    /// <returns>Null if there is none.</returns>
    Task<Breach?> GetBreachAsync(string name, CancellationToken cancellationToken);

    /// <summary>Returns all breaches by name, with the marks that count now: one consistent state.</summary>
    Task<IReadOnlyList<Breach>> ListBreachesAsync(CancellationToken cancellationToken);

    /// <summary>Returns the state from which the catalogue is written: its version, and all breaches at that version.</summary>
    Task<CatalogueState> ReadCatalogueAsync(CancellationToken cancellationToken);

    /// <summary>
    /// Applies changes from a catalogue that is newer than the restored database, and raises the catalogue's version. Otherwise
    /// the documents written before the restore would stay the newer ones permanently.
    /// </summary>
    /// <param name="version">The catalogue's version that <paramref name="breaches"/> were derived from.</param>
    /// <param name="atLeast">Minimum version afterwards.</param>
    /// <returns>False if the database has another version by now; nothing was changed.</returns>
    Task<bool> MergeBreachesAsync(
        long version, IReadOnlyList<BreachMerge> breaches, long atLeast, CancellationToken cancellationToken);

    /// <summary>
    /// Merges a metadata document into a breach under a lock on its row, so that concurrent merges both take effect. A document
    /// next to a dropped file clears no flag (<see cref="BreachMetadata.Merge"/>); an operator's may.
    /// </summary>
    /// <exception cref="Errors.BadInputException">The document can't be read.</exception>
    /// <exception cref="Errors.NotPossibleException">No such breach.</exception>
    Task MergeMetadataAsync(string name, ReadOnlyMemory<byte> document, bool byOperator, CancellationToken cancellationToken);

    /// <summary>Hides a breach from all lookups, or shows it again.</summary>
    /// <returns>False if there is no such breach.</returns>
    Task<bool> SetHiddenAsync(string name, bool hidden, CancellationToken cancellationToken);
}
