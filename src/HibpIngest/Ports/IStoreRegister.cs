namespace HibpIngest.Ports;

/// <summary>
/// The small facts that must be had without waking the database, in table <c>hibpstore</c>: the store's identity, which loads are open, which blob versions have been taken on.
/// </summary>
public interface IStoreRegister
{
    /// <summary>Creates the table where it is missing.</summary>
    Task CreateAsync(CancellationToken cancellationToken);

    Task<StoreIdentity?> GetIdentityAsync(CancellationToken cancellationToken);

    /// <summary>Records the identity unless there is one; returns the one that counts.</summary>
    Task<StoreIdentity> AddIdentityAsync(StoreIdentity identity, CancellationToken cancellationToken);

    /// <summary>Marks a load as open; again gives the mark a new version.</summary>
    Task MarkOpenAsync(long load, CancellationToken cancellationToken);

    /// <summary>The open loads, each with the version of its mark.</summary>
    Task<IReadOnlyList<(long Load, string Version)>> ListOpenAsync(CancellationToken cancellationToken);

    /// <summary>Takes a mark away unless it has been set again since that version was read.</summary>
    Task ClearOpenAsync(long load, string version, CancellationToken cancellationToken);

    /// <summary>Whether a blob version has been taken on.</summary>
    Task<bool> HasReceiptAsync(Breaches.BlobVersion blob, CancellationToken cancellationToken);

    /// <summary>Records that a blob version has been taken on; idempotent.</summary>
    Task AddReceiptAsync(Breaches.BlobVersion blob, CancellationToken cancellationToken);
}
