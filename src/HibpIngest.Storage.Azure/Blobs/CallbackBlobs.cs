namespace HibpIngest.Storage.Azure.Blobs;

internal sealed class CallbackBlobs(BlobContainerClient container) : ICallbackBlobs
{
    public Task CreateAsync(CancellationToken cancellationToken) => container.CreateIfMissingAsync(cancellationToken);

    public Task<bool> WriteAsync(
        CallbackKey delivery, ReadOnlyMemory<byte> content, bool replaces, CancellationToken cancellationToken) =>
        StorageCall.TryAsync(
            $"writing the calls to client {delivery.Client}",
            () => Blob(delivery).UploadAsync(
                new BinaryData(content),
                new BlobUploadOptions { Conditions = replaces ? null : ContainerCalls.VersionIs(null) }, cancellationToken),
            StorageCall.IsExistingBlob, cancellationToken);

    public async Task<byte[]?> ReadAsync(CallbackKey delivery, CancellationToken cancellationToken) => (await BlobDownload.RunAsync(
        Blob(delivery), $"reading the calls to client {delivery.Client}", knownETag: null, cancellationToken))?.Content;

    public Task DeleteAsync(CallbackKey delivery, CancellationToken cancellationToken) =>
        container.DeleteAsync(NameOf(delivery), $"deleting the calls to client {delivery.Client}", cancellationToken);

    public async Task DeleteAsync(LoadId load, CancellationToken cancellationToken)
    {
        var operation = $"deleting the calls about load {load}";
        var prefix = string.Create(CultureInfo.InvariantCulture, $"{load}/");
        await foreach (var blob in container.ListAsync(BlobTraits.None, prefix, operation, isOptional: true, cancellationToken))
            await container.DeleteAsync(blob.Name, operation, cancellationToken);
    }

    private static string NameOf(CallbackKey delivery) =>
        string.Create(CultureInfo.InvariantCulture, $"{delivery.Load}/{delivery.Slice}/{delivery.Client}");

    private BlobClient Blob(CallbackKey delivery) => container.GetBlobClient(NameOf(delivery));
}
