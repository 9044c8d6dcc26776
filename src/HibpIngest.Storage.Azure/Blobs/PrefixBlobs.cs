namespace HibpIngest.Storage.Azure.Blobs;

/// <summary>One blob per client, named by its number.</summary>
internal sealed class PrefixBlobs(BlobContainerClient container) : IPrefixBlobs
{
    public Task CreateAsync(CancellationToken cancellationToken) => container.CreateIfMissingAsync(cancellationToken);

    public async Task<PrefixBlob?> ReadAsync(int client, CancellationToken cancellationToken, PrefixBlob? known = null)
    {
        var blob = await BlobDownload.RunAsync(
            Blob(client), $"reading of client {client}'s prefixes", known?.Version, cancellationToken, isOptional: true);
        if (blob is null)
            return null;
        if (blob.Details is null)
            return known;
        if (blob.Content.Length != PrefixBitmap.Length)
        {
            throw new StoreMismatchException($"the prefix blob of client {client} has {blob.Content.Length} bytes, expected "
                + $"{PrefixBitmap.Length}: restore an earlier version of the blob");
        }
        return new PrefixBlob(blob.Details.ETag.ToString("H"), new PrefixBitmap(blob.Content));
    }

    public Task<string?> WriteAsync(int client, PrefixBitmap prefixes, string? version, CancellationToken cancellationToken) =>
        container.TryUploadAsync(
            NameOf(client), prefixes.Bytes, new BlobUploadOptions { Conditions = ContainerCalls.VersionIs(version) },
            $"writing of client {client}'s prefixes", cancellationToken);

    // A missing container means that no client ever watched a prefix.
    public Task DeleteAsync(int client, CancellationToken cancellationToken) => StorageCall.TryAsync(
        $"deletion of client {client}'s prefixes", () => Blob(client).DeleteIfExistsAsync(cancellationToken: cancellationToken),
        e => e.ErrorCode == BlobErrorCode.ContainerNotFound, cancellationToken);

    private static string NameOf(int client) => client.ToString(CultureInfo.InvariantCulture);

    private BlobClient Blob(int client) => container.GetBlobClient(NameOf(client));
}
