using HibpIngest.Storage.Azure.Blobs;

namespace HibpIngest.Storage.Azure.Tables;

/// <summary>One partition per submitter, one row per transaction, whose hashes are in a blob named by its id.</summary>
internal sealed class PasswordAppends(StorageTable table, BlobContainerClient container) : IPasswordAppends
{
    // Error texts omit the id: anyone who knows it may confirm the transaction.
    private const string Reading = "reading of appended hashes";

    // The stored name of MessageSentAt.
    private const string SentAt = "SentAt";

    public async Task CreateAsync(CancellationToken cancellationToken)
    {
        await table.CreateAsync(cancellationToken);
        await container.CreateIfMissingAsync(cancellationToken);
    }

    public Task WriteRowsAsync(Guid id, ReadOnlyMemory<byte> rows, CancellationToken cancellationToken) => StorageCall.RunAsync(
        "writing of appended hashes",
        () => Blob(id).UploadAsync(
            new BinaryData(rows),
            new BlobUploadOptions { HttpHeaders = new BlobHttpHeaders { ContentType = "application/octet-stream" } }, cancellationToken),
        cancellationToken);

    public async Task<ReadOnlyMemory<byte>?> ReadRowsAsync(Guid id, long offset, int length, CancellationToken cancellationToken)
    {
        if (length == 0)
            return ReadOnlyMemory<byte>.Empty; // a range can't be empty
        var read = await BlobDownload.RunAsync(
            Blob(id), Reading, new BlobDownloadOptions { Range = new HttpRange(offset, length) }, cancellationToken, isOptional: true);
        // Of type byte[], null would become an empty memory.
        return read is null ? (ReadOnlyMemory<byte>?)null
            : read.Content.Length == length ? read.Content
            : throw new StoreMismatchException(
                $"{Reading} failed: expected {length} bytes, found {read.Content.Length}; the blob was changed or damaged");
    }

    // The result is false if a lost response made the client library send it again: no other transaction has this id.
    public Task AddAsync(AppendTransaction transaction, CancellationToken cancellationToken) =>
        table.AddAsync(ToEntity(transaction), "recording of a transaction of hashes", cancellationToken);

    public async Task<AppendTransaction?> FindAsync(string subscription, Guid id, CancellationToken cancellationToken) =>
        await table.FindAsync(
            subscription, RowKey(id), "look-up of a transaction of hashes", cancellationToken, isOptional: true) is { } entity
            ? Read(entity) : null;

    public async Task<AppendTransaction?> UpdateAsync(AppendTransaction transaction, CancellationToken cancellationToken) =>
        await table.ReplaceAsync(
            ToEntity(transaction), VersionOf(transaction), "update of a transaction of hashes", cancellationToken) is { } version
            ? transaction with { ETag = version.ToString() } : null;

    // Every key is greater than the empty one.
    public IAsyncEnumerable<AppendTransaction> ListAsync(CancellationToken cancellationToken) => table.QueryAsync(
        "PartitionKey gt ''", null, "listing of transactions of hashes", isOptional: true, cancellationToken).Select(Read);

    public async Task<bool> DeleteAsync(AppendTransaction transaction, CancellationToken cancellationToken)
    {
        if (!await table.DeleteAsync(
            transaction.Submitter, RowKey(transaction.Id), VersionOf(transaction), "deletion of a transaction of hashes",
            cancellationToken))
            return false;
        await container.DeleteAsync(RowKey(transaction.Id), "deletion of appended hashes", cancellationToken);
        return true;
    }

    private BlobClient Blob(Guid id) => container.GetBlobClient(RowKey(id));

    private static string RowKey(Guid id) => id.ToString("D");

    private static ETag VersionOf(AppendTransaction transaction) => new(transaction.ETag
        ?? throw new ArgumentException("the transaction has no ETag: read it from the store before updating it", nameof(transaction)));

    private static TableEntity ToEntity(AppendTransaction transaction)
    {
        var entity = new TableEntity(transaction.Submitter, RowKey(transaction.Id))
        {
            [nameof(AppendTransaction.State)] = (int)transaction.State,
            [nameof(AppendTransaction.Sha1Rows)] = transaction.Sha1Rows,
            [nameof(AppendTransaction.NtlmRows)] = transaction.NtlmRows,
            [nameof(AppendTransaction.CreatedAt)] = TableText.Of(transaction.CreatedAt),
        };
        if (transaction.MessageSentAt is { } sentAt)
            entity[SentAt] = TableText.Of(sentAt);
        if (transaction.DoneAt is { } doneAt)
            entity[nameof(AppendTransaction.DoneAt)] = TableText.Of(doneAt);
        if (transaction.Release is { } release)
            entity[nameof(AppendTransaction.Release)] = release;
        if (!transaction.PartsDone.IsEmpty)
            entity[nameof(AppendTransaction.PartsDone)] = Convert.ToBase64String(transaction.PartsDone.Span);
        return entity;
    }

    private AppendTransaction Read(TableEntity entity)
    {
        if (Guid.TryParseExact(entity.RowKey, "D", out var id)
            && entity[nameof(AppendTransaction.State)] is int state && Enum.IsDefined((AppendState)state)
            && entity[nameof(AppendTransaction.Sha1Rows)] is int and >= 0 and var sha1
            && entity[nameof(AppendTransaction.NtlmRows)] is int and >= 0 and var ntlm
            && TableText.TimeOf(entity, nameof(AppendTransaction.CreatedAt)) is { } createdAt
            && TryReadTime(SentAt, out var sentAt)
            && TryReadTime(nameof(AppendTransaction.DoneAt), out var doneAt)
            && (entity.ContainsKey(nameof(AppendTransaction.PartsDone))
                ? TableText.BytesOf(entity, nameof(AppendTransaction.PartsDone)) : []) is { } partsDone)
        {
            return new AppendTransaction
            {
                Submitter = entity.PartitionKey,
                Id = id,
                State = (AppendState)state,
                CreatedAt = createdAt,
                Sha1Rows = sha1,
                NtlmRows = ntlm,
                MessageSentAt = sentAt,
                Release = entity[nameof(AppendTransaction.Release)] as string,
                PartsDone = partsDone,
                DoneAt = doneAt,
                ETag = entity.ETag.ToString(),
            };
        }
        throw table.Unreadable("a row of");

        bool TryReadTime(string name, out DateTimeOffset? time)
        {
            time = TableText.TimeOf(entity, name);
            return time is not null || !entity.ContainsKey(name);
        }
    }
}
