namespace HibpIngest.Storage.Azure.Blobs;

internal static class ContainerCalls
{
    public static Task CreateIfMissingAsync(this BlobContainerClient container, CancellationToken cancellationToken) =>
        StorageCall.RunAsync(
            $"creating container {container.Name}",
            () => container.CreateIfNotExistsAsync(PublicAccessType.None, null, null, cancellationToken), cancellationToken);

    public static IAsyncEnumerable<BlobItem> ListAsync(
        this BlobContainerClient container, BlobTraits traits, string? prefix, string operation, bool isOptional,
        CancellationToken cancellationToken) =>
        container.GetBlobsAsync(traits, BlobStates.None, prefix, cancellationToken)
            .EnumerateAsync(operation, isOptional, cancellationToken);

    /// <returns>Null if the blob or the container doesn't exist: a response to HEAD has no body to say which.</returns>
    public static Task<BlobProperties?> FindAsync(
        this BlobContainerClient container, string name, string operation, CancellationToken cancellationToken) =>
        StorageCall.FindAsync<BlobProperties>(
            operation, async () => await container.GetBlobClient(name).GetPropertiesAsync(cancellationToken: cancellationToken),
            StorageCall.IsNotFound, cancellationToken);

    /// <returns>The new ETag; null if the options' conditions aren't met.</returns>
    public static Task<string?> TryUploadAsync(
        this BlobContainerClient container, string name, ReadOnlyMemory<byte> content, BlobUploadOptions options, string operation,
        CancellationToken cancellationToken) =>
        StorageCall.FindAsync(operation, async () =>
        {
            BlobContentInfo info = await container.GetBlobClient(name).UploadAsync(new BinaryData(content), options, cancellationToken);
            return info.ETag.ToString("H");
        }, StorageCall.IsOtherVersion, cancellationToken);

    public static Task DeleteAsync(
        this BlobContainerClient container, string name, string operation, CancellationToken cancellationToken) => StorageCall.RunAsync(
            operation, () => container.GetBlobClient(name).DeleteIfExistsAsync(cancellationToken: cancellationToken), cancellationToken);

    public static Task DeleteVersionAsync(
        this BlobContainerClient container, string name, string etag, string operation, CancellationToken cancellationToken,
        DeleteSnapshotsOption snapshots = DeleteSnapshotsOption.None) =>
        StorageCall.TryAsync(
            operation, () => container.GetBlobClient(name).DeleteIfExistsAsync(snapshots, VersionIs(etag), cancellationToken),
            StorageCall.IsConditionNotMet, cancellationToken);

    /// <param name="etag">ETag of the version. Null if the blob must not exist.</param>
    public static BlobRequestConditions VersionIs(string? etag) =>
        etag is null ? new() { IfNoneMatch = ETag.All } : new() { IfMatch = new ETag(etag) };

    /// <param name="isOptional">True if a container or table that doesn't exist counts as an empty one.</param>
    public static async IAsyncEnumerable<T> EnumerateAsync<T>(
        this AsyncPageable<T> pages, string operation, bool isOptional, [EnumeratorCancellation] CancellationToken cancellationToken)
        where T : notnull
    {
        await using var items = pages.GetAsyncEnumerator(cancellationToken);
        while (await MoveNextAsync())
            yield return items.Current;

        async Task<bool> MoveNextAsync()
        {
            try
            {
                return await StorageCall.RunAsync(operation, async () => await items.MoveNextAsync(), cancellationToken);
            }
            catch (StoreMissingException) when (isOptional)
            {
                return false;
            }
        }
    }
}
