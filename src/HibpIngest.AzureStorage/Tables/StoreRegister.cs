using System.Globalization;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Ports;

namespace HibpIngest.AzureStorage.Tables;

/// <summary>The store register: partitions <c>store</c> (the identity), <c>open</c> (a row a load), <c>receipt</c> (a row a blob version).</summary>
internal sealed class StoreRegister(TableService tables, string table) : IStoreRegister
{
    private const string StorePartition = "store";
    private const string IdentityRow = "identity";
    private const string OpenPartition = "open";
    private const string ReceiptPartition = "receipt";

    public Task CreateAsync(CancellationToken cancellationToken) => tables.CreateTableAsync(table, cancellationToken);

    public async Task<StoreIdentity?> GetIdentityAsync(CancellationToken cancellationToken)
    {
        if (await tables.GetAsync(table, StorePartition, IdentityRow, "reading of the store's identity", cancellationToken) is not { } entity)
            return null;
        if (entity.TryGetProperty("Id", out var id) && id.ValueKind == JsonValueKind.String && Guid.TryParse(id.GetString(), out var guid)
            && entity.TryGetProperty("PartitionSpread", out var spread) && spread.TryGetInt32(out var partitionSpread)
            && entity.TryGetProperty("StorageAccounts", out var accounts) && accounts.TryGetInt32(out var storageAccounts))
            return new StoreIdentity(guid, partitionSpread, storageAccounts);
        throw new StoreMismatchException($"the store's identity in table {table} can't be read: the table was written by something else");
    }

    public async Task<StoreIdentity> AddIdentityAsync(StoreIdentity identity, CancellationToken cancellationToken)
    {
        // Whether or not this insert is the one that counts (a lost answer is sent again), what is there afterwards is.
        await tables.InsertAsync(table, StorePartition, IdentityRow, writer =>
        {
            writer.WriteString("Id", identity.Id.ToString("D"));
            writer.WriteNumber("PartitionSpread", identity.PartitionSpread);
            writer.WriteNumber("StorageAccounts", identity.StorageAccounts);
        }, "recording of the store's identity", cancellationToken);
        return await GetIdentityAsync(cancellationToken) ?? throw new StoreMismatchException($"the store's identity has just been deleted from table {table}");
    }

    public Task MarkOpenAsync(long load, CancellationToken cancellationToken) =>
        tables.PutAsync(table, OpenPartition, load.ToString(CultureInfo.InvariantCulture), static _ => { }, "marking of a load as open", cancellationToken);

    public async Task<IReadOnlyList<(long Load, string Version)>> ListOpenAsync(CancellationToken cancellationToken)
    {
        var open = new List<(long, string)>();
        await foreach (var entity in tables.QueryAsync(table, $"PartitionKey eq '{OpenPartition}'", null, "listing of open loads", cancellationToken))
        {
            if (long.TryParse(entity.GetProperty("RowKey").GetString(), NumberStyles.None, CultureInfo.InvariantCulture, out var load))
                open.Add((load, entity.GetProperty("odata.etag").GetString()!));
        }

        open.Sort();
        return open;
    }

    public Task ClearOpenAsync(long load, string version, CancellationToken cancellationToken) =>
        tables.DeleteAsync(table, OpenPartition, load.ToString(CultureInfo.InvariantCulture), version, "clearing of a load's mark", cancellationToken);

    public async Task<bool> HasReceiptAsync(BlobVersion blob, CancellationToken cancellationToken) =>
        await tables.GetAsync(table, ReceiptPartition, ReceiptKey(blob), "look-up of a blob's receipt", cancellationToken) is not null;

    public Task AddReceiptAsync(BlobVersion blob, CancellationToken cancellationToken) =>
        tables.PutAsync(table, ReceiptPartition, ReceiptKey(blob), static _ => { }, "recording of a blob's receipt", cancellationToken);

    /// <summary>A blob's name may hold what a key may not, and be longer.</summary>
    private static string ReceiptKey(BlobVersion blob) => Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes($"{blob.Name}\n{blob.ETag}")));
}
