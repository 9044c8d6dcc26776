using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <summary>Receipts of the blob versions for which a load exists.</summary>
public interface IReceipts
{
    Task<bool> HasReceiptAsync(BlobVersion blob, CancellationToken cancellationToken);

    /// <summary>Records that a message for a blob version is about to be sent.</summary>
    /// <returns>False, with nothing recorded, if it has a receipt, or a message was sent less than
    /// <paramref name="shortWhile"/> ago.</returns>
    Task<bool> TryMarkSentAsync(BlobVersion blob, DateTimeOffset now, TimeSpan shortWhile, CancellationToken cancellationToken);

    /// <summary>Adds a receipt for a blob version. Idempotent.</summary>
    Task AddReceiptAsync(BlobVersion blob, CancellationToken cancellationToken);

    /// <summary>
    /// Records that the load of a blob version was removed: it is not loaded again, even if a restored database doesn't know of
    /// it. The receipt stays. Idempotent.
    /// </summary>
    Task AddRemovedAsync(BlobVersion blob, CancellationToken cancellationToken);

    Task<bool> WasRemovedAsync(BlobVersion blob, CancellationToken cancellationToken);
}
