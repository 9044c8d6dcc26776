using Azure.Storage.Blobs;
using Azure.Storage.Blobs.Models;

namespace HibpIngest.Storage.Azure.Blobs;

/// <summary>Calls that several containers need. Each takes the operation's name for error messages.</summary>
internal static class ContainerCalls
{
    public static Task CreateIfMissingAsync(this BlobContainerClient container, string operation, CancellationToken cancellationToken) =>
        BreachBlobs.Call(
            operation, async () => await container.CreateIfNotExistsAsync(PublicAccessType.None, null, null, cancellationToken),
            cancellationToken);

    /// <param name="isOptional">Whether a container that doesn't exist counts as an empty one.</param>
    public static IAsyncEnumerable<BlobItem> ListAsync(
        this BlobContainerClient container, BlobTraits traits, string? prefix, string operation, bool isOptional,
        CancellationToken cancellationToken) =>
        container.GetBlobsAsync(traits, BlobStates.None, prefix, cancellationToken)
            .EnumerateAsync(operation, isOptional, cancellationToken);

    /// <returns>Null if the blob or the container doesn't exist: a response to HEAD has no body to say which.</returns>
    public static Task<BlobProperties?> FindAsync(
        this BlobContainerClient container, string name, string operation, CancellationToken cancellationToken) =>
        BreachBlobs.Call<BlobProperties?>(operation, async () =>
        {
            try
            {
                return await container.GetBlobClient(name).GetPropertiesAsync(cancellationToken: cancellationToken);
            }
            catch (RequestFailedException e) when (e.Status == 404)
            {
                return null;
            }
        }, cancellationToken);

    /// <summary>Creates a blob on the condition that it doesn't exist.</summary>
    /// <returns>False if it exists.</returns>
    public static Task<bool> TryCreateAsync(string operation, Func<Task> create, CancellationToken cancellationToken) =>
        BreachBlobs.Call(operation, async () =>
        {
            try
            {
                await create();
                return true;
            }
            catch (RequestFailedException e) when (e.Status == 412 || e.ErrorCode == BlobErrorCode.BlobAlreadyExists)
            {
                return false;
            }
        }, cancellationToken);

    /// <summary>Deletes a blob if it still has this ETag.</summary>
    public static Task DeleteVersionAsync(
        this BlobContainerClient container, string name, string etag, string operation, CancellationToken cancellationToken) =>
        BreachBlobs.Call(operation, async () =>
        {
            try
            {
                return await container.GetBlobClient(name).DeleteIfExistsAsync(
                    conditions: new BlobRequestConditions { IfMatch = new ETag(etag) }, cancellationToken: cancellationToken);
            }
            catch (RequestFailedException e) when (e.Status == 412)
            {
                return null;
            }
        }, cancellationToken);
}
