namespace HibpIngest.Stores;

/// <summary>The breaches, the current marks, and the removal of breaches.</summary>
public interface ICatalogue
{
    /// <summary>Returns a breach by name, ignoring case.</summary>
    Task<Breach?> GetBreachAsync(string name, CancellationToken cancellationToken);

    /// <summary>Returns all breaches by name, with the current marks now: one consistent state.</summary>
    Task<IReadOnlyList<Breach>> ListBreachesAsync(CancellationToken cancellationToken);

    /// <summary>Returns the state from which the catalogue is written: its version, and all breaches at that version.</summary>
    Task<CatalogueState> ReadCatalogueAsync(CancellationToken cancellationToken);

    /// <summary>
    /// Applies changes from a catalogue that is newer than the restored database, and raises the catalogue's version. Otherwise the
    /// documents written before the restore would stay the newer ones permanently.
    /// </summary>
    /// <param name="version">The catalogue's version that <paramref name="breaches"/> were derived from.</param>
    /// <param name="atLeast">Minimum version afterwards.</param>
    /// <returns>False if the database has another version by now; nothing was changed.</returns>
    Task<bool> MergeBreachesAsync(
        long version, IReadOnlyList<BreachMerge> breaches, long atLeast, CancellationToken cancellationToken);

    /// <summary>
    /// Merges a metadata document into a breach under a lock on its row, so that concurrent merges both take effect. A document next to a
    /// dropped file clears no flag (<see cref="BreachMetadata.Merge"/>); an operator's may.
    /// </summary>
    /// <exception cref="Errors.BadInputException">The document can't be read.</exception>
    /// <exception cref="Errors.NotPossibleException">No such breach.</exception>
    Task MergeMetadataAsync(string name, ReadOnlyMemory<byte> document, bool byOperator, CancellationToken cancellationToken);

    /// <summary>Hides a breach from all lookups, or shows it again.</summary>
    /// <returns>False if there is no such breach.</returns>
    Task<bool> SetHiddenAsync(string name, bool hidden, CancellationToken cancellationToken);

    /// <summary>
    /// Starts to remove a breach: lists all its loads for removal and hides them from readers (sets <see cref="Breaches.Load.Removing"/>,
    /// clears their PublishedAt and the breach's), deletes their notifications, and raises the catalogue's version. From then on, none of
    /// their slices is started, none of their mails is claimed, and they can't be resumed, requeued or purged. A load that is added later
    /// isn't listed. If an interrupted removal has already listed loads of the breach, these are returned and nothing else is listed. A
    /// breach without loads is deleted at once.
    /// </summary>
    /// <returns>The listed loads, oldest first; none: the breach is deleted.</returns>
    /// <exception cref="Errors.NotPossibleException">No such breach, or one of its loads is open (neither done, failed nor held); nothing
    /// was listed.</exception>
    Task<IReadOnlyList<LoadRemoval>> BeginRemovalAsync(string breach, CancellationToken cancellationToken);

    /// <summary>Returns the loads that are listed for removal, with the names of their breaches, oldest first.</summary>
    Task<IReadOnlyList<(string Breach, LoadRemoval Load)>> ListRemovalsAsync(CancellationToken cancellationToken);

    /// <summary>Returns whether a slice of one of these loads has a live lease, so that it may still write.</summary>
    Task<bool> HasLeasedSlicesAsync(IReadOnlyCollection<LoadId> loads, CancellationToken cancellationToken);

    /// <summary>Records how far the table has been scanned for a listed load.</summary>
    Task SetRemovalTokenAsync(LoadId load, string token, CancellationToken cancellationToken);

    /// <summary>
    /// Completes the removal of a listed load: deletes its slices, counts, notifications and the load itself, and its breach if it was the
    /// last load. Idempotent.
    /// </summary>
    Task FinishRemovalAsync(LoadId load, CancellationToken cancellationToken);
}

/// <summary>A consistent state of the database, from which the catalogue is written.</summary>
/// <param name="Version">Counts the changes to the data that readers see.</param>
/// <param name="Breaches">All breaches by name, including hidden and unpublished ones.</param>
public sealed record CatalogueState(long Version, IReadOnlyList<CatalogueBreach> Breaches);

/// <param name="ModifiedAt">When its public data last changed; null if it was never published and its metadata never changed.</param>
/// <param name="Zips">Names of the blobs of its published loads, the newest load's first.</param>
public sealed record CatalogueBreach(Breach Breach, long Accounts, DateTimeOffset? ModifiedAt, IReadOnlyList<string> Zips)
{
    /// <summary>Catalogue version at the last change to what the journal records of the breach or of its published loads.</summary>
    public long JournalVersion { get; init; }

    /// <inheritdoc cref="Breach.IsListed"/>
    public bool IsListed => Breach.IsListed;
}

/// <summary>Changes to a breach, taken from a catalogue that is newer than the database.</summary>
/// <param name="ModifiedAt">When its metadata last changed.</param>
public sealed record BreachMerge(string Name, BreachMetadata Metadata, bool Hidden, DateTimeOffset? ModifiedAt);

/// <summary>A load that is being removed, and the progress of its removal.</summary>
/// <param name="Mark">0: it has no mark, and therefore no entities.</param>
/// <param name="SharesMark">A remaining load has the same mark (both from a store upgraded from schema 1): the mark stays on the
/// accounts.</param>
/// <param name="First">The first position whose row still exists; past <paramref name="Last"/> if there is none. The entities of earlier
/// rows are done.</param>
/// <param name="RowsPurged">Rows were purged before the removal started: the remaining ones don't name all entities.</param>
/// <param name="Token">How far the table has been scanned, as recorded by <see cref="ICatalogue.SetRemovalTokenAsync"/>; null if not at
/// all.</param>
public sealed record LoadRemoval(LoadId Load, int Mark, bool SharesMark, long First, long Last, bool RowsPurged, string? Token);
