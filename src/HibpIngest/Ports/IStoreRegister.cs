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

    /// <summary>The next id for a load, never given before nor again; gaps are normal.</summary>
    Task<long> DrawLoadAsync(CancellationToken cancellationToken);

    /// <summary>The next mark, never given before nor again; gaps are normal.</summary>
    Task<int> DrawMarkAsync(CancellationToken cancellationToken);

    /// <summary>Up to which ids are known to be in the database; both 0 where none is.</summary>
    Task<StoreIds> GetConfirmedAsync(CancellationToken cancellationToken);

    /// <summary>Ids up to these are in the database: raises what is confirmed, and what is drawn where it lags behind; never lowers either. Costs no write where nothing is raised.</summary>
    Task ConfirmAsync(StoreIds ids, CancellationToken cancellationToken);

    /// <summary>Marks a load as open; again gives the mark a new version.</summary>
    Task MarkOpenAsync(long load, CancellationToken cancellationToken);

    /// <summary>The open loads, each with the version of its mark.</summary>
    Task<IReadOnlyList<(long Load, string Version)>> ListOpenAsync(CancellationToken cancellationToken);

    /// <summary>Takes a mark away unless it has been set again since that version was read.</summary>
    Task ClearOpenAsync(long load, string version, CancellationToken cancellationToken);

    /// <summary>Whether a blob version has been taken on.</summary>
    Task<bool> HasReceiptAsync(Breaches.BlobVersion blob, CancellationToken cancellationToken);

    /// <summary>
    /// Notes that a message for a blob version is about to be sent. False, and nothing noted: it has a receipt, or one was sent less than <paramref name="shortWhile"/> ago.
    /// </summary>
    Task<bool> TryMarkSentAsync(Breaches.BlobVersion blob, DateTimeOffset now, TimeSpan shortWhile, CancellationToken cancellationToken);

    /// <summary>Records that a blob version has been taken on; idempotent.</summary>
    Task AddReceiptAsync(Breaches.BlobVersion blob, CancellationToken cancellationToken);
}
