using System.Globalization;
using System.Runtime.CompilerServices;
using System.Text.Json;
using Azure;
using Azure.Storage.Blobs;
using Azure.Storage.Blobs.Models;
using HibpIngest.AzureStorage.Blobs;
using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.AzureStorage.Tables;

/// <summary>A partition a subscription, a row a transaction; its hashes in a blob named by its id.</summary>
internal sealed class PasswordAppends(TableService tables, string table, BlobContainerClient container) : IPasswordAppends
{
    // Without the id: whoever has it may confirm it.
    private const string Reading = "reading of appended hashes";
    private const string Looking = "look-up of a transaction of hashes";

    private const string ETagProperty = "odata.etag";

    public async Task CreateAsync(CancellationToken cancellationToken)
    {
        await tables.CreateTableAsync(table, cancellationToken);
        await BreachBlobs.Call(
            "creation of the container of appended hashes",
            async () => await container.CreateIfNotExistsAsync(PublicAccessType.None, null, null, cancellationToken), cancellationToken);
    }

    public Task WriteRowsAsync(Guid id, ReadOnlyMemory<byte> rows, CancellationToken cancellationToken) => BreachBlobs.Call(
        "writing of appended hashes",
        async () => await Blob(id).UploadAsync(
            new BinaryData(rows),
            new BlobUploadOptions { HttpHeaders = new BlobHttpHeaders { ContentType = "application/octet-stream" } }, cancellationToken),
        cancellationToken);

    public async Task<ReadOnlyMemory<byte>?> ReadRowsAsync(Guid id, long offset, int length, CancellationToken cancellationToken)
    {
        if (length == 0)
            return ReadOnlyMemory<byte>.Empty; // there is no range of no bytes
        try
        {
            var read = await BlobDownload.RunAsync(
                Blob(id), Reading, new BlobDownloadOptions { Range = new HttpRange(offset, length) }, cancellationToken);
            if (read is null)
                return null;
            return read.Content.Length == length ? read.Content
                : throw new StoreMismatchException($"{Reading} failed: {read.Content.Length} bytes came, and {length} were expected");
        }
        catch (StoreMissingException)
        {
            return null; // nothing was ever appended
        }
    }

    public async Task AddAsync(AppendTransaction transaction, CancellationToken cancellationToken)
    {
        // False where a lost answer was sent again: the id is nobody else's.
        await tables.InsertAsync(
            table, transaction.Subscription, RowKey(transaction.Id), writer => Write(writer, transaction),
            "recording of a transaction of hashes", cancellationToken);
    }

    public async Task<AppendTransaction?> FindAsync(string subscription, Guid id, CancellationToken cancellationToken)
    {
        try
        {
            return await tables.GetAsync(table, subscription, RowKey(id), Looking, cancellationToken) is { } entity ? Read(entity) : null;
        }
        catch (StoreMissingException)
        {
            return null; // nothing was ever appended
        }
    }

    public async Task<AppendTransaction?> UpdateAsync(AppendTransaction transaction, CancellationToken cancellationToken) =>
        await tables.UpdateAsync(
            table, transaction.Subscription, RowKey(transaction.Id), VersionOf(transaction), writer => Write(writer, transaction),
            "update of a transaction of hashes", cancellationToken) is { } etag ? transaction with { ETag = etag } : null;

    public async IAsyncEnumerable<AppendTransaction> ListAsync([EnumeratorCancellation] CancellationToken cancellationToken)
    {
        // Every key is above none.
        await using var entities = tables.QueryAsync(
            table, "PartitionKey gt ''", null, "listing of transactions of hashes", cancellationToken)
            .GetAsyncEnumerator(cancellationToken);
        while (await MoveNextAsync(entities))
            yield return Read(entities.Current);
    }

    public async Task<bool> DeleteAsync(AppendTransaction transaction, CancellationToken cancellationToken)
    {
        if (!await tables.DeleteAsync(
            table, transaction.Subscription, RowKey(transaction.Id), VersionOf(transaction), "deletion of a transaction of hashes",
            cancellationToken))
            return false;
        await BreachBlobs.Call(
            "deletion of appended hashes",
            async () => await Blob(transaction.Id).DeleteIfExistsAsync(cancellationToken: cancellationToken), cancellationToken);
        return true;
    }

    private static async Task<bool> MoveNextAsync(IAsyncEnumerator<JsonElement> entities)
    {
        try
        {
            return await entities.MoveNextAsync();
        }
        catch (StoreMissingException)
        {
            return false; // nothing was ever appended
        }
    }

    private BlobClient Blob(Guid id) => container.GetBlobClient(RowKey(id));

    private static string RowKey(Guid id) => id.ToString("D");

    private static string VersionOf(AppendTransaction transaction) => transaction.ETag
        ?? throw new ArgumentException("a transaction that was read was expected", nameof(transaction));

    private static void Write(Utf8JsonWriter writer, AppendTransaction transaction)
    {
        writer.WriteNumber(nameof(AppendTransaction.State), (int)transaction.State);
        writer.WriteNumber(nameof(AppendTransaction.Sha1Rows), transaction.Sha1Rows);
        writer.WriteNumber(nameof(AppendTransaction.NtlmRows), transaction.NtlmRows);
        WriteTime(nameof(AppendTransaction.CreatedAt), transaction.CreatedAt);
        WriteTime(nameof(AppendTransaction.SentAt), transaction.SentAt);
        WriteTime(nameof(AppendTransaction.DoneAt), transaction.DoneAt);
        if (transaction.Release is not null)
            writer.WriteString(nameof(AppendTransaction.Release), transaction.Release);
        if (!transaction.PartsDone.IsEmpty)
            writer.WriteBase64String(nameof(AppendTransaction.PartsDone), transaction.PartsDone.Span);

        void WriteTime(string name, DateTimeOffset? time)
        {
            // Text that no service takes for a time: those come back in forms of their own.
            if (time is { } at)
                writer.WriteString(name, at.UtcDateTime.ToString("u", CultureInfo.InvariantCulture));
        }
    }

    private AppendTransaction Read(JsonElement entity)
    {
        if (Text("PartitionKey") is { } subscription && Guid.TryParseExact(Text("RowKey"), "D", out var id)
            && Text(ETagProperty) is { } etag && Number(nameof(AppendTransaction.State)) is { } state
            && Enum.IsDefined((AppendState)state) && Number(nameof(AppendTransaction.Sha1Rows)) is >= 0 and var sha1
            && Number(nameof(AppendTransaction.NtlmRows)) is >= 0 and var ntlm
            && TryReadTime(nameof(AppendTransaction.CreatedAt), out var createdAt) && createdAt is not null
            && TryReadTime(nameof(AppendTransaction.SentAt), out var sentAt)
            && TryReadTime(nameof(AppendTransaction.DoneAt), out var doneAt)
            && TryReadParts(out var partsDone))
        {
            return new AppendTransaction
            {
                Subscription = subscription,
                Id = id,
                State = (AppendState)state,
                CreatedAt = createdAt.Value,
                Sha1Rows = sha1,
                NtlmRows = ntlm,
                SentAt = sentAt,
                Release = Text(nameof(AppendTransaction.Release)),
                PartsDone = partsDone,
                DoneAt = doneAt,
                ETag = etag,
            };
        }
        throw new StoreMismatchException($"a row of table {table} can't be read: the table was written by something else");

        string? Text(string name) =>
            entity.TryGetProperty(name, out var value) && value.ValueKind == JsonValueKind.String ? value.GetString() : null;

        int? Number(string name) =>
            entity.TryGetProperty(name, out var value) && value.ValueKind == JsonValueKind.Number && value.TryGetInt32(out var number)
            ? number : null;

        bool TryReadTime(string name, out DateTimeOffset? time)
        {
            time = null;
            if (!entity.TryGetProperty(name, out _))
                return true;
            if (!DateTimeOffset.TryParse(Text(name), CultureInfo.InvariantCulture, out var at))
                return false;
            time = at;
            return true;
        }

        bool TryReadParts(out byte[] bytes)
        {
            bytes = [];
            return !entity.TryGetProperty(nameof(AppendTransaction.PartsDone), out var value)
                || (value.ValueKind == JsonValueKind.String && value.TryGetBytesFromBase64(out bytes!));
        }
    }
}
