using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <summary>Encrypted passwords of encrypted archives, by blob version.</summary>
/// <remarks>The rules in <see cref="IBreachDatabase"/> apply.</remarks>
public interface IArchivePasswords
{
    /// <summary>
    /// Stores the encrypted password for a blob version, replacing an existing one. An empty ETag stands for the version that
    /// is being dropped.
    /// </summary>
    Task PutPasswordAsync(BlobVersion blob, byte[] sealedPassword, CancellationToken cancellationToken);

    Task<byte[]?> GetPasswordAsync(BlobVersion blob, CancellationToken cancellationToken);

    Task DeletePasswordAsync(BlobVersion blob, CancellationToken cancellationToken);
}
