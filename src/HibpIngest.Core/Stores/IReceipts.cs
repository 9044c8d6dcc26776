using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <summary>Which blob versions have been taken on.</summary>
public interface IReceipts
{
    Task<bool> HasReceiptAsync(BlobVersion blob, CancellationToken cancellationToken);

    /// <summary>
    /// Notes that a message for a blob version is about to be sent. False, and nothing noted: it has a receipt,
    /// or one was sent less than <paramref name="shortWhile"/> ago.
    /// </summary>
    Task<bool> TryMarkSentAsync(BlobVersion blob, DateTimeOffset now, TimeSpan shortWhile, CancellationToken cancellationToken);

    /// <summary>Records that a blob version has been taken on; idempotent.</summary>
    Task AddReceiptAsync(BlobVersion blob, CancellationToken cancellationToken);

    /// <summary>
    /// Records that what was loaded from a blob version has been removed: it is not loaded again, though a
    /// backup of the database knows nothing of it. Its receipt stays; idempotent.
    /// </summary>
    Task AddRemovedAsync(BlobVersion blob, CancellationToken cancellationToken);

    Task<bool> WasRemovedAsync(BlobVersion blob, CancellationToken cancellationToken);
}
