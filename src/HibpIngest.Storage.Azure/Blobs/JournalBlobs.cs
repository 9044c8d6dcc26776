using Azure.Storage.Blobs.Specialized;

namespace HibpIngest.Storage.Azure.Blobs;

/// <summary>Error messages may contain the names of blobs, which consist of numbers and hashes, never of an address.</summary>
internal sealed class JournalBlobs(BlobContainerClient container) : IJournalBlobs
{
    public Task CreateAsync(CancellationToken cancellationToken) => container.CreateIfMissingAsync(cancellationToken);

    public IAsyncEnumerable<JournalBlob> ListAsync(string prefix, CancellationToken cancellationToken) =>
        container.ListAsync(BlobTraits.None, prefix, "listing of the journal", isOptional: true, cancellationToken)
            .Select(blob => new JournalBlob(blob.Name, blob.Properties.ContentLength ?? 0));

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
