namespace HibpIngest.Stores;

/// <summary>Records open loads, received blob versions and a stale catalogue, readable without waking the database.</summary>
public interface IWorkRegister
{
    /// <summary>Marks a load as open. Repeating it gives the mark a new version.</summary>
    Task MarkOpenAsync(LoadId load, CancellationToken cancellationToken);

    /// <summary>Returns the open loads, each with the version of its mark.</summary>
    Task<IReadOnlyList<(LoadId Load, string Version)>> ListOpenAsync(CancellationToken cancellationToken);

    /// <summary>Clears a mark, unless it was set again after that version was read.</summary>
    Task ClearOpenAsync(LoadId load, string version, CancellationToken cancellationToken);

    /// <summary>Returns whether a load of the blob version exists.</summary>
    Task<bool> HasReceiptAsync(BlobVersion blob, CancellationToken cancellationToken);

    /// <summary>Records that a message for a blob version is about to be sent.</summary>
    /// <returns>False, with nothing recorded, if it has a receipt, or a message was sent less than <paramref name="shortWhile"/>
    /// ago.</returns>
    Task<bool> TryMarkSentAsync(BlobVersion blob, DateTimeOffset now, TimeSpan shortWhile, CancellationToken cancellationToken);

    /// <summary>Adds a receipt for a blob version. Idempotent.</summary>
    Task AddReceiptAsync(BlobVersion blob, CancellationToken cancellationToken);

    /// <summary>
    /// Records that the load of a blob version was removed: it is not loaded again, even if a restored database doesn't know of it. The
    /// receipt stays. Idempotent.
    /// </summary>
    Task AddRemovedAsync(BlobVersion blob, CancellationToken cancellationToken);
    Task<bool> WasRemovedAsync(BlobVersion blob, CancellationToken cancellationToken);

    /// <summary>
    /// Marks the catalogue as possibly stale, and returns the name of the new mark. Each writer sets its own mark before it changes what
    /// readers see, or writes the catalogue, and clears only that one, so that it does not hide another writer's pending change.
    /// </summary>
    Task<string> SetStaleMarkAsync(DateTimeOffset now, CancellationToken cancellationToken);

    /// <summary>Returns all marks of a stale catalogue, the oldest first.</summary>
    Task<IReadOnlyList<(string Mark, DateTimeOffset SetAt)>> ListStaleMarksAsync(CancellationToken cancellationToken);

    /// <summary>Clears a mark of a stale catalogue. Idempotent.</summary>
    Task ClearStaleMarkAsync(string mark, CancellationToken cancellationToken);
}
