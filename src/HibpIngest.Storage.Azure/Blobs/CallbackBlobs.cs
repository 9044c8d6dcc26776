namespace HibpIngest.Storage.Azure.Blobs;

/// <summary>One blob per delivery: <c>load/slice/client</c>.</summary>
internal sealed class CallbackBlobs(BlobContainerClient container) : ICallbackBlobs
{
    public Task CreateAsync(CancellationToken cancellationToken) =>
        container.CreateIfMissingAsync("creation of the callbacks' container", cancellationToken);

    public Task<bool> WriteAsync(
        CallbackKey delivery, ReadOnlyMemory<byte> content, bool replaces, CancellationToken cancellationToken) =>
        StorageCall.TryAsync(
            $"writing of what client {delivery.Client} is called of",
            () => Blob(delivery).UploadAsync(
                new BinaryData(content),
                new BlobUploadOptions { Conditions = replaces ? null : ContainerCalls.VersionIs(null) }, cancellationToken),
            StorageCall.IsExistingBlob, cancellationToken);

    public async Task<byte[]?> ReadAsync(CallbackKey delivery, CancellationToken cancellationToken) => (await BlobDownload.RunAsync(
        Blob(delivery), $"reading of what client {delivery.Client} is called of", knownETag: null, cancellationToken))?.Content;

    public Task DeleteAsync(CallbackKey delivery, CancellationToken cancellationToken) =>
        container.DeleteAsync(NameOf(delivery), $"deletion of what client {delivery.Client} was called of", cancellationToken);

    public async Task DeleteAsync(long load, CancellationToken cancellationToken)
    {
        var operation = $"deletion of what clients were called of because of load {load}";
        var prefix = string.Create(CultureInfo.InvariantCulture, $"{load}/");
        await foreach (var blob in container.ListAsync(BlobTraits.None, prefix, operation, isOptional: true, cancellationToken))
            await container.DeleteAsync(blob.Name, operation, cancellationToken);
    }

    private static string NameOf(CallbackKey delivery) =>
        string.Create(CultureInfo.InvariantCulture, $"{delivery.Load}/{delivery.Slice}/{delivery.Client}");

    private BlobClient Blob(CallbackKey delivery) => container.GetBlobClient(NameOf(delivery));
}
