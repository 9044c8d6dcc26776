using Azure.Storage.Blobs.Specialized;

namespace HibpIngest.Storage.Azure.Blobs;

internal sealed class PasswordBlobs(BlobContainerClient container, BlobReads reads) : IPasswordBlobs
{
    /// <summary>Metadata key of a note, which the service returns as a header.</summary>
    internal const string NoteName = "note";

    // Error texts omit the name: a range's name is the prefix that a caller searched for.
    private const string Reading = "reading of passwords";
    private const string Listing = "listing of passwords";

    public Task CreateAsync(CancellationToken cancellationToken) => container.CreateIfMissingAsync(cancellationToken);

    public async Task<PasswordBlob?> ReadAsync(string name, string? knownETag, CancellationToken cancellationToken)
    {
        if (knownETag is null && await reads.TryReadAsync(name, null, cancellationToken) is { } read)
            return read;
        return await BlobDownload.RunAsync(
            container.GetBlobClient(name), Reading, knownETag, cancellationToken, isOptional: true) is not { } blob ? null
            : blob.Details is null ? new PasswordBlob(knownETag!, default, ReadOnlyMemory<byte>.Empty, IsUnchanged: true)
            : Read(blob);
    }

    public async Task<PasswordBlob?> ReadPartAsync(
        string name, string etag, long offset, int length, CancellationToken cancellationToken)
    {
        if (await reads.TryReadAsync(name, (etag, offset, length), cancellationToken) is { } read)
            return read;
        var part = await BlobDownload.ReadRangeAsync(
            container.GetBlobClient(name), Reading, offset, length, etag, cancellationToken);
        return part is null ? null
            : part.Content.Length == length ? Read(part)
            : throw new StoreMismatchException(
                $"{Reading} failed: expected {length} bytes, found {part.Content.Length}; the blob was changed or damaged");
    }

    public async Task<PasswordBlobVersion?> FindAsync(string name, CancellationToken cancellationToken) =>
        await container.FindAsync(name, Reading, cancellationToken) is not { } blob ? null
            : new PasswordBlobVersion(blob.ETag.ToString("H"), blob.ContentLength);

    public Task<string?> WriteAsync(string name, PasswordContent content, string? replaces, CancellationToken cancellationToken) =>
        container.TryUploadAsync(
            name, content.Bytes,
            new BlobUploadOptions
            {
                HttpHeaders = new BlobHttpHeaders
                {
                    ContentType = content.ContentType,
                    ContentEncoding = content.IsGzip ? "gzip" : null,
                },
                Metadata = content.Note is null ? null : new Dictionary<string, string> { [NoteName] = content.Note },
                Conditions = Conditions(replaces),
            },
            "writing of a blob of passwords", cancellationToken);

    public async Task<string?> UploadAsync(string name, Stream content, string? replaces, CancellationToken cancellationToken) =>
        (await BlockUpload.TryRunAsync(
            container.GetBlockBlobClient(name), content, Conditions(replaces), null, cancellationToken))?.ToString("H");

    public Task<int> AppendAsync(string name, ReadOnlyMemory<byte> bytes, CancellationToken cancellationToken) =>
        StorageCall.RunAsync("adding to a blob of passwords", async () =>
    {
        var blob = container.GetAppendBlobClient(name);
        try
        {
            return await AppendAsync(blob, bytes, cancellationToken);
        }
        catch (RequestFailedException e) when (StorageCall.IsMissingBlob(e))
        {
            await blob.CreateIfNotExistsAsync(cancellationToken: cancellationToken);
            return await AppendAsync(blob, bytes, cancellationToken);
        }
    }, cancellationToken);

    public Task<ReadOnlyMemory<byte>?> ReadFromAsync(string name, long offset, int limit, CancellationToken cancellationToken) =>
        StorageCall.FindAsync<ReadOnlyMemory<byte>?>(Reading, async () =>
        {
            try
            {
                BlobDownloadResult read = await container.GetBlobClient(name).DownloadContentAsync(
                    new BlobDownloadOptions { Range = new HttpRange(offset, limit) }, cancellationToken);
                return read.Content.ToMemory();
            }
            catch (RequestFailedException e) when (StorageCall.IsBeyondEnd(e))
            {
                return ReadOnlyMemory<byte>.Empty;
            }
        }, StorageCall.IsNotFound, cancellationToken);

    public IAsyncEnumerable<string> ListAsync(string prefix, CancellationToken cancellationToken) =>
        container.ListAsync(BlobTraits.None, prefix, Listing, isOptional: false, cancellationToken).Select(blob => blob.Name);

    public IAsyncEnumerable<string> ListFoldersAsync(string prefix, CancellationToken cancellationToken) =>
        container.GetBlobsByHierarchyAsync(BlobTraits.None, BlobStates.None, "/", prefix, cancellationToken)
            .EnumerateAsync(Listing, isOptional: false, cancellationToken)
            .Where(item => item.IsPrefix).Select(item => item.Prefix[prefix.Length..^1]);

    public Task DeleteAsync(string name, CancellationToken cancellationToken) =>
        container.DeleteAsync(name, "deletion of a blob of passwords", cancellationToken);

    public Task DeleteAsync(string name, string etag, CancellationToken cancellationToken) =>
        container.DeleteVersionAsync(name, etag, "deletion of a blob of passwords", cancellationToken);

    private static BlobRequestConditions? Conditions(string? replaces) =>
        replaces == IPasswordBlobs.AnyVersion ? null : ContainerCalls.VersionIs(replaces);

    private static PasswordBlob Read(BlobDownload blob) =>
        new(blob.Details!.ETag.ToString("H"), blob.Details.LastModified, blob.Content, IsUnchanged: false)
        {
            Note = blob.Details.Metadata.TryGetValue(NoteName, out var note) ? note : null,
        };

    private static async Task<int> AppendAsync(AppendBlobClient blob, ReadOnlyMemory<byte> bytes, CancellationToken cancellationToken)
    {
        await using var content = new BinaryData(bytes).ToStream();
        BlobAppendInfo info = await blob.AppendBlockAsync(content, cancellationToken: cancellationToken);
        return info.BlobCommittedBlockCount;
    }
}
