using System.Buffers;
using Azure.Storage.Blobs.Specialized;

namespace HibpIngest.Storage.Azure.Blobs;

/// <summary>
/// Uploads a file in blocks and commits them at the end. A block's id is its number and the hash of its content, so that blocks left
/// uncommitted by an interrupted upload are recognised and reused; the commit drops blocks of other content.
/// </summary>
internal static class BlockUpload
{
    /// <summary>Limit of blocks per blob (learn.microsoft.com/rest/api/storageservices/put-block-list).</summary>
    private const int MaxBlocks = 50_000;

    // Large enough that a round trip hardly counts, small enough that an interrupted upload loses little; 400 GB at the maximum of blocks.
    private const int BlockBytes = 8 * 1024 * 1024;

    /// <summary>Blocks uploaded concurrently. Each is in memory: 4 x 8 MiB, or more if the file needs larger blocks.</summary>
    private const int BlocksInFlight = 4;

    // With the 4 bytes of the number, 18 bytes: 24 characters of base64 without padding.
    private const int HashBytes = 14;

    /// <summary>Metadata key of the SHA-256 of the blob's content, in lower-case hex.</summary>
    public const string Sha256Key = "sha256";

    /// <summary>Uploads, replacing any blob of that name, and writes the content's SHA-256 to the blob's metadata.</summary>
    public static async Task<ETag> RunAsync(
        BlockBlobClient blob, Stream content, IProgress<long>? progress, CancellationToken cancellationToken)
    {
        using var sha256 = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
        return (await TryRunAsync(blob, content, null, progress, cancellationToken, sha256))!.Value;
    }

    /// <param name="progress">Receives the bytes uploaded so far.</param>
    /// <param name="sha256">Receives the content; its hash is written to the blob's metadata. If null, no metadata is written.</param>
    /// <returns>Null if the conditions aren't met; nothing is committed then.</returns>
    public static async Task<ETag?> TryRunAsync(
        BlockBlobClient blob, Stream content, BlobRequestConditions? conditions, IProgress<long>? progress,
        CancellationToken cancellationToken, IncrementalHash? sha256 = null)
    {
        var operation = $"uploading blob '{blob.Name}'";
        var staged = await FindStagedAsync(blob, operation, cancellationToken);
        var blockBytes = BlockSize(content);
        var ids = new List<string>();
        var staging = new List<Task>();
        var uploaded = 0L;
        using var stop = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        try
        {
            while (true)
            {
                var buffer = ArrayPool<byte>.Shared.Rent(blockBytes);
                var length = await content.ReadAtLeastAsync(
                    buffer.AsMemory(0, blockBytes), blockBytes, throwOnEndOfStream: false, cancellationToken);
                if (length == 0)
                {
                    ArrayPool<byte>.Shared.Return(buffer);
                    break;
                }
                if (ids.Count == MaxBlocks)
                    throw new BadInputException($"the file is too large for a blob: more than {MaxBlocks} blocks of {blockBytes} bytes");
                sha256?.AppendData(buffer, 0, length);
                var id = BlockId(ids.Count, buffer.AsSpan(0, length));
                ids.Add(id);
                if (staged.TryGetValue(id, out var size) && size == length)
                {
                    ArrayPool<byte>.Shared.Return(buffer);
                    progress?.Report(Interlocked.Add(ref uploaded, length));
                    continue;
                }
                staging.Add(StageAsync(id, buffer, length));
                if (staging.Count < BlocksInFlight)
                    continue;
                var done = await Task.WhenAny(staging);
                staging.Remove(done);
                await done;
            }
            await Task.WhenAll(staging);
        }
        catch
        {
            // No task may still read the buffers or use the connection after this method.
            await stop.CancelAsync();
            await Task.WhenAll(staging).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            throw;
        }
        var options = new CommitBlockListOptions
        {
            Conditions = conditions,
            Metadata = sha256 is null ? null : new Dictionary<string, string>
            {
                [Sha256Key] = Convert.ToHexStringLower(sha256.GetHashAndReset()),
            },
        };
        // Another upload's commit drops the blocks of this one: InvalidBlockList.
        return await StorageCall.FindAsync<ETag?>(
            operation, async () => (await blob.CommitBlockListAsync(ids, options, cancellationToken)).Value.ETag,
            e => conditions is not null && (StorageCall.IsExistingBlob(e) || e.ErrorCode == BlobErrorCode.InvalidBlockList),
            cancellationToken);

        async Task StageAsync(string id, byte[] buffer, int length)
        {
            using var block = new MemoryStream(buffer, 0, length, writable: false);
            await StorageCall.RunAsync(operation, () => blob.StageBlockAsync(id, block, cancellationToken: stop.Token), stop.Token);
            ArrayPool<byte>.Shared.Return(buffer);
            progress?.Report(Interlocked.Add(ref uploaded, length));
        }
    }

    private static async Task<Dictionary<string, long>> FindStagedAsync(
        BlockBlobClient blob, string operation, CancellationToken cancellationToken)
    {
        var blocks = await StorageCall.FindAsync<BlockList>(
            operation, async () => await blob.GetBlockListAsync(BlockListTypes.Uncommitted, cancellationToken: cancellationToken),
            StorageCall.IsMissingBlob, cancellationToken);
        return blocks?.UncommittedBlocks.ToDictionary(block => block.Name, block => block.SizeLong) ?? [];
    }

    /// <summary>Depends on the length only, so that a repeated upload finds its blocks.</summary>
    private static int BlockSize(Stream content)
    {
        if (!content.CanSeek)
            return BlockBytes;
        var needed = (content.Length / MaxBlocks) + 1;
        var size = (long)BlockBytes;
        while (size < needed)
            size *= 2;
        if (size > 1024L * 1024 * 1024)
            throw new BadInputException($"the file is too large for a blob: {content.Length} bytes");
        return (int)size;
    }

    private static string BlockId(int number, ReadOnlySpan<byte> content)
    {
        Span<byte> id = stackalloc byte[4 + SHA256.HashSizeInBytes];
        BinaryPrimitives.WriteInt32BigEndian(id, number);
        SHA256.HashData(content, id[4..]);
        return Convert.ToBase64String(id[..(4 + HashBytes)]);
    }
}
