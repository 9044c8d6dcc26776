using Azure.Storage.Blobs.Specialized;

namespace HibpIngest.Storage.Azure.Blobs;

internal sealed class JournalBlobs(BlobContainerClient container) : IJournalBlobs
{
    // Blob names may be logged: they hold only numbers and hashes.
    private const string Listing = "listing of the account log";

    public Task CreateAsync(CancellationToken cancellationToken) =>
        container.CreateIfMissingAsync("creation of the account log's container", cancellationToken);

    public async IAsyncEnumerable<JournalBlob> ListAsync(string prefix, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        await foreach (var blob in container.ListAsync(BlobTraits.None, prefix, Listing, isOptional: true, cancellationToken))
            yield return new JournalBlob(blob.Name, blob.Properties.ContentLength ?? 0);
    }

    public async Task<long?> FindAsync(string name, CancellationToken cancellationToken) =>
        (await container.FindAsync(name, $"look-up of blob '{name}'", cancellationToken))?.ContentLength;

    public Task<Stream?> OpenAsync(string name, long offset, long length, CancellationToken cancellationToken)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(offset);
        ArgumentOutOfRangeException.ThrowIfLessThan(length, 1);
        var reading = $"reading of blob '{name}'";
        return StorageCall.FindAsync(reading, async () =>
        {
            try
            {
                // If the connection is lost, the library resumes after the bytes received, under If-Match.
                var response = await container.GetBlobClient(name).DownloadStreamingAsync(
                    new BlobDownloadOptions { Range = new HttpRange(offset, length) }, cancellationToken);
                return new BlobBody(response.Value.Content, reading);
            }
            catch (RequestFailedException e) when (StorageCall.IsBeyondEnd(e))
            {
                return Stream.Null;
            }
        }, StorageCall.IsNotFound, cancellationToken);
    }

    public Task<bool> WriteAsync(string name, ReadOnlyMemory<byte> content, CancellationToken cancellationToken) =>
        StorageCall.TryAsync(
            $"writing of blob '{name}'",
            () => container.GetBlobClient(name).UploadAsync(
                new BinaryData(content), new BlobUploadOptions { Conditions = ContainerCalls.VersionIs(null) }, cancellationToken),
            StorageCall.IsExistingBlob, cancellationToken);

    public async Task<bool> UploadAsync(string name, Stream content, CancellationToken cancellationToken) =>
        await BlockUpload.TryRunAsync(
            container.GetBlockBlobClient(name), content, ContainerCalls.VersionIs(null), null, cancellationToken) is not null;

    public Task DeleteAsync(string name, CancellationToken cancellationToken) =>
        container.DeleteAsync(name, $"deletion of blob '{name}'", cancellationToken);
}
