using Azure.Storage.Blobs.Specialized;

namespace HibpIngest.Storage.Azure.Blobs;

/// <param name="once">The same container through a client that doesn't retry.</param>
internal sealed class AccessBlobs(BlobContainerClient container, BlobContainerClient once) : IAccessBlobs
{
    private const string StateName = "state";
    private const string SentName = "sent";
    private const int PieceBytes = 4 << 20;

    public Task CreateAsync(CancellationToken cancellationToken) => container.CreateIfMissingAsync(cancellationToken);

    public Task<bool> BeginAsync(string name, CancellationToken cancellationToken) => StorageCall.TryAsync(
        $"beginning of blob '{name}'",
        () => once.GetAppendBlobClient(name).CreateAsync(
            new AppendBlobCreateOptions { Conditions = new() { IfNoneMatch = ETag.All } }, cancellationToken),
        StorageCall.IsExistingBlob, cancellationToken);

    public Task<BlockAppend> AppendAsync(string name, long position, ReadOnlyMemory<byte> block, CancellationToken cancellationToken) =>
        StorageCall.RunAsync($"appending to blob '{name}'", async () =>
        {
            try
            {
                await using var content = new BinaryData(block).ToStream();
                await once.GetAppendBlobClient(name).AppendBlockAsync(
                    content, new AppendBlobAppendBlockOptions { Conditions = new() { IfAppendPositionEqual = position } },
                    cancellationToken);
                return BlockAppend.Appended;
            }
            catch (RequestFailedException e) when (StorageCall.IsConditionNotMet(e))
            {
                return BlockAppend.OtherPosition;
            }
            catch (RequestFailedException e) when (StorageCall.IsNotFound(e))
            {
                return BlockAppend.NoBlob; // also if the container doesn't exist
            }
        }, cancellationToken);

    public Task MarkAsync(AccessBlob blob, AccessBlobState state, DateTimeOffset? sentAt, CancellationToken cancellationToken)
    {
        var metadata = new Dictionary<string, string>(StringComparer.Ordinal) { [StateName] = TextOf(state) };
        if (sentAt is { } sent)
            metadata[SentName] = sent.ToUnixTimeSeconds().ToString(CultureInfo.InvariantCulture);
        // Has no effect if another process has changed the blob's state.
        return StorageCall.TryAsync(
            $"marking blob '{blob.Name}'",
            () => container.GetBlobClient(blob.Name).SetMetadataAsync(
                metadata, ContainerCalls.VersionIs(blob.Version), cancellationToken),
            e => e.Status is 412 or 404, cancellationToken);
    }

    public async Task<AccessBlob?> FindAsync(string name, CancellationToken cancellationToken) =>
        await container.FindAsync(name, $"looking up blob '{name}'", cancellationToken) is not { } blob ? null : new AccessBlob(
            name, blob.ContentLength, blob.LastModified, StateOf(blob.Metadata), SentOf(blob.Metadata), Quoted(blob.ETag));

    public IAsyncEnumerable<AccessBlob> ListAsync(CancellationToken cancellationToken) =>
        container.ListAsync(BlobTraits.Metadata, null, "listing the access log", isOptional: true, cancellationToken)
            .Select(blob => new AccessBlob(
                blob.Name, blob.Properties.ContentLength ?? 0, blob.Properties.LastModified ?? default, StateOf(blob.Metadata),
                SentOf(blob.Metadata), Quoted(blob.Properties.ETag ?? default)));

    public Task<Stream?> OpenAsync(string name, long offset, CancellationToken cancellationToken)
    {
        var reading = $"reading blob '{name}'";
        // Buffered reads of 4 MiB: the emulator opens every block of the requested range before it responds. Metadata may change during the
        // read; the content already written doesn't.
        var options = new BlobOpenReadOptions(allowModifications: true) { Position = offset, BufferSize = PieceBytes };
        return StorageCall.FindAsync<Stream>(
            reading, async () => new BlobBody(await container.GetBlobClient(name).OpenReadAsync(options, cancellationToken), reading),
            StorageCall.IsNotFound, cancellationToken);
    }

    public Task DeleteAsync(string name, CancellationToken cancellationToken) =>
        container.DeleteAsync(name, $"deleting blob '{name}'", cancellationToken);

    /// <summary>With quotes, as in the ETag header; listings omit them.</summary>
    private static string Quoted(ETag etag) => etag.ToString("H");

    private static string TextOf(AccessBlobState state) => state switch
    {
        AccessBlobState.Open => "open",
        AccessBlobState.Sealed => "sealed",
        _ => "counted",
    };

    private static AccessBlobState StateOf(IDictionary<string, string>? metadata) =>
        metadata is null || !metadata.TryGetValue(StateName, out var text) ? AccessBlobState.Open
        : Enum.GetValues<AccessBlobState>().FirstOrDefault(state => TextOf(state) == text);

    private static DateTimeOffset? SentOf(IDictionary<string, string>? metadata) =>
        metadata is not null && metadata.TryGetValue(SentName, out var text)
        && long.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var seconds)
        ? DateTimeOffset.FromUnixTimeSeconds(seconds) : null;
}
