namespace HibpIngest.Storage.Azure.Blobs;

internal sealed class PasswordDrops(BlobContainerClient container) : IPasswordDrops
{
    // Error texts omit the name, which is untrusted input.
    private const string Reading = "reading of a dropped file of passwords";

    public Task CreateAsync(CancellationToken cancellationToken) => container.CreateIfMissingAsync(cancellationToken);

    // Listings return ETags without quotes, all other calls with them.
    public IAsyncEnumerable<DroppedPasswords> ListAsync(CancellationToken cancellationToken) =>
        container.ListAsync(BlobTraits.None, null, "listing of dropped passwords", isOptional: false, cancellationToken)
            .Select(blob => new DroppedPasswords(
                blob.Name, blob.Properties.ETag!.Value.ToString("H"), blob.Properties.ContentLength ?? 0,
                blob.Properties.LastModified ?? default));

    public async Task<DroppedPasswords?> FindAsync(string name, CancellationToken cancellationToken) =>
        await container.FindAsync(name, Reading, cancellationToken) is not { } blob ? null
            : new DroppedPasswords(name, blob.ETag.ToString("H"), blob.ContentLength, blob.LastModified);

    public async Task<ReadOnlyMemory<byte>?> ReadAsync(
        DroppedPasswords file, long offset, int length, CancellationToken cancellationToken)
    {
        var part = await BlobDownload.ReadRangeAsync(
            container.GetBlobClient(file.Name), Reading, offset, length, file.ETag, cancellationToken);
        // Of type byte[], null would become an empty memory.
        return part is null ? (ReadOnlyMemory<byte>?)null
            : part.Content.Length == length ? part.Content
            : throw new UnavailableException(Reading, $"expected {length} bytes, found {part.Content.Length}");
    }

    public Task DeleteAsync(DroppedPasswords file, CancellationToken cancellationToken) =>
        container.DeleteVersionAsync(file.Name, file.ETag, "deletion of a dropped file of passwords", cancellationToken);
}
