using System.Globalization;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Azure.Storage.Blobs;
using Azure.Storage.Blobs.Models;
using Azure.Storage.Blobs.Specialized;

namespace HibpIngest.Storage.Azure.Blobs;

/// <param name="once">The same container through a client that doesn't retry.</param>
internal sealed class AccessBlobs(BlobContainerClient container, BlobContainerClient once) : IAccessBlobs
{
    private const string StateName = "state";
    private const string SentName = "sent";
    private const int PieceBytes = 4 << 20;

    public Task CreateAsync(CancellationToken cancellationToken) =>
        container.CreateIfMissingAsync("creation of the access log's container", cancellationToken);

    public Task<bool> BeginAsync(string name, CancellationToken cancellationToken) =>
        ContainerCalls.TryCreateAsync(
            $"beginning of blob '{name}'",
            () => once.GetAppendBlobClient(name).CreateAsync(
                new AppendBlobCreateOptions { Conditions = new AppendBlobRequestConditions { IfNoneMatch = ETag.All } }, cancellationToken),
            cancellationToken);

    public Task<BlockAppend> AppendAsync(string name, long position, ReadOnlyMemory<byte> block, CancellationToken cancellationToken) =>
        BreachBlobs.Call($"appending to blob '{name}'", async () =>
        {
            try
            {
                await using var content = Read(block);
                await once.GetAppendBlobClient(name).AppendBlockAsync(
                    content,
                    new AppendBlobAppendBlockOptions
                    {
                        Conditions = new AppendBlobRequestConditions { IfAppendPositionEqual = position },
                    },
                    cancellationToken);
                return BlockAppend.Appended;
            }
            catch (RequestFailedException e) when (e.Status == 412)
            {
                return BlockAppend.OtherPosition;
            }
            catch (RequestFailedException e) when (e.Status == 404)
            {
                return BlockAppend.NoBlob; // also if the container doesn't exist
            }
        }, cancellationToken);

    public Task MarkAsync(AccessBlob blob, AccessBlobState state, DateTimeOffset? sentAt, CancellationToken cancellationToken) =>
        BreachBlobs.Call($"marking of blob '{blob.Name}'", async () =>
        {
            var metadata = new Dictionary<string, string>(StringComparer.Ordinal) { [StateName] = TextOf(state) };
            if (sentAt is { } sent)
                metadata[SentName] = sent.ToUnixTimeSeconds().ToString(CultureInfo.InvariantCulture);
            try
            {
                await container.GetBlobClient(blob.Name).SetMetadataAsync(
                    metadata, new BlobRequestConditions { IfMatch = new ETag(blob.Version) }, cancellationToken);
            }
            catch (RequestFailedException e) when (e.Status is 412 or 404)
            {
                // Another process has changed the blob's state.
            }
            return true;
        }, cancellationToken);

    public async Task<AccessBlob?> FindAsync(string name, CancellationToken cancellationToken) =>
        await container.FindAsync(name, $"look-up of blob '{name}'", cancellationToken) is not { } blob ? null : new AccessBlob(
            name, blob.ContentLength, blob.LastModified, StateOf(blob.Metadata), SentOf(blob.Metadata), Quoted(blob.ETag));

    public async IAsyncEnumerable<AccessBlob> ListAsync([EnumeratorCancellation] CancellationToken cancellationToken)
    {
        await foreach (var blob in container.ListAsync(
            BlobTraits.Metadata, null, "listing of the access log", isOptional: true, cancellationToken))
        {
            var properties = blob.Properties;
            yield return new AccessBlob(
                blob.Name, properties.ContentLength ?? 0, properties.LastModified ?? default, StateOf(blob.Metadata), SentOf(blob.Metadata),
                Quoted(properties.ETag ?? default));
        }
    }

    public Task<Stream?> OpenAsync(string name, long offset, CancellationToken cancellationToken)
    {
        var reading = $"reading of blob '{name}'";
        return BreachBlobs.Call<Stream?>(reading, async () =>
        {
            try
            {
                // Buffered reads of 4 MiB: the emulator opens every block of the requested range before it responds. Metadata may change
                // during the read; the content already written doesn't.
                return new BlobBody(
                    await container.GetBlobClient(name).OpenReadAsync(
                        new BlobOpenReadOptions(allowModifications: true) { Position = offset, BufferSize = PieceBytes },
                        cancellationToken),
                    reading);
            }
            catch (RequestFailedException e) when (e.Status == 404)
            {
                return null;
            }
        }, cancellationToken);
    }

    public Task DeleteAsync(string name, CancellationToken cancellationToken) => BreachBlobs.Call($"deletion of blob '{name}'",
        async () => await container.GetBlobClient(name).DeleteIfExistsAsync(cancellationToken: cancellationToken), cancellationToken);

    /// <summary>With quotes, as in the ETag header; listings omit them.</summary>
    private static string Quoted(ETag etag) => etag.ToString("H");

    private static MemoryStream Read(ReadOnlyMemory<byte> block) =>
        MemoryMarshal.TryGetArray(block, out var array)
        ? new MemoryStream(array.Array!, array.Offset, array.Count, writable: false) : new MemoryStream(block.ToArray(), writable: false);

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
