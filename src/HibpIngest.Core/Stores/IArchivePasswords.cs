using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <summary>Sealed passwords of encrypted archives, by blob version.</summary>
/// <remarks>The rules of <see cref="IBreachDatabase"/> hold.</remarks>
public interface IArchivePasswords
{
    /// <summary>
    /// The sealed password for a blob version, replaced where there is one. An empty ETag: for the version that
    /// is being dropped.
    /// </summary>
    Task PutPasswordAsync(BlobVersion blob, byte[] sealedPassword, CancellationToken cancellationToken);

    Task<byte[]?> GetPasswordAsync(BlobVersion blob, CancellationToken cancellationToken);

    Task DeletePasswordAsync(BlobVersion blob, CancellationToken cancellationToken);
}
