using System.Globalization;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.AzureStorage.Tables;

/// <summary>
/// The store register: partitions <c>store</c> (the identity, which of the store's storage accounts this is, the
/// ids), <c>layout</c> (a row a layout, and <c>read</c>, which says which of them is read), <c>open</c> (a row a
/// load), <c>receipt</c> (a row a blob version; with SentAt it is no receipt yet, with Removed its load was removed),
/// <c>catalogue</c> (a row for each writer that may leave the catalogue behind), <c>host</c> (a row a process), <c>suppression</c> (rows
/// <c>hash!number</c>, of which the last counts; and <c>check</c>).
/// </summary>
internal sealed partial class StoreRegister(TableService tables, string table, TimeProvider time) : IStoreRegister
{
    private const string StorePartition = "store";
    private const string IdentityRow = "identity";
    private const string AccountRow = "account";
    private const string IdsRow = "ids";
    private const string LayoutPartition = "layout";
    private const string ReadRow = "read";
    private const string OpenPartition = "open";
    private const string ReceiptPartition = "receipt";
    private const string CataloguePartition = "catalogue";
    private const string SetAt = "SetAt";
    private const string SentAt = "SentAt";
    private const string Removed = "Removed";

    public Task CreateAsync(CancellationToken cancellationToken) => tables.CreateTableAsync(table, cancellationToken);

    public async Task<StoreIdentity?> GetIdentityAsync(CancellationToken cancellationToken)
    {
        if (await tables.GetAsync(
            table, StorePartition, IdentityRow, "reading of the store's identity", cancellationToken) is not { } entity)
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
        return await GetIdentityAsync(cancellationToken)
            ?? throw new StoreMismatchException($"the store's identity has just been deleted from table {table}");
    }

    /// <summary>
    /// What this storage account says of itself; of the first, set up by a program that knew one, its identity says it.
    /// </summary>
    public async Task<AccountIdentity?> FindAccountAsync(CancellationToken cancellationToken)
    {
        const string Operation = "reading of the storage account's identity";
        try
        {
            if (await tables.GetAsync(table, StorePartition, AccountRow, Operation, cancellationToken) is not { } entity)
            {
                return await GetIdentityAsync(cancellationToken) is { } identity
                    ? new AccountIdentity(identity.Id, Number: 1, Of: 1) : null;
            }
            if (entity.TryGetProperty("Id", out var id) && Guid.TryParse(id.GetString(), out var guid)
                && entity.TryGetProperty("Number", out var number) && number.TryGetInt32(out var place)
                && entity.TryGetProperty("Of", out var of) && of.TryGetInt32(out var count))
                return new AccountIdentity(guid, place, count);
        }
        catch (StoreMissingException)
        {
            return null; // no register yet
        }
        throw new StoreMismatchException($"which storage account of a store this is can't be read in table {table}: it was written by "
            + "something else");
    }

    /// <summary>Records that.</summary>
    public Task PutAccountAsync(AccountIdentity identity, CancellationToken cancellationToken) => tables.PutAsync(
        table, StorePartition, AccountRow, writer =>
        {
            writer.WriteString("Id", identity.Store.ToString("D"));
            writer.WriteNumber("Number", identity.Number);
            writer.WriteNumber("Of", identity.Of);
        }, "recording of the storage account's identity", cancellationToken);

    public async Task<long> DrawLoadAsync(CancellationToken cancellationToken) =>
        (await ChangeIdsAsync(ids => ids with { LoadsDrawn = ids.LoadsDrawn + 1 }, cancellationToken)).LoadsDrawn;

    public async Task<int> DrawMarkAsync(CancellationToken cancellationToken) =>
        (await ChangeIdsAsync(ids => ids with { MarksDrawn = ids.MarksDrawn + 1 }, cancellationToken)).MarksDrawn;

    public async Task<(StoreIds Ids, bool MovingOn)> GetConfirmedAsync(CancellationToken cancellationToken)
    {
        var (ids, _) = await ReadIdsAsync(cancellationToken);
        return (new StoreIds(ids.LoadsConfirmed, ids.MarksConfirmed), ids.MovingOn);
    }

    public Task SetMovingOnAsync(bool movingOn, CancellationToken cancellationToken) =>
        ChangeIdsAsync(ids => ids with { MovingOn = movingOn }, cancellationToken);

    public Task ConfirmAsync(StoreIds ids, CancellationToken cancellationToken)
    {
        var load = checked((int)ids.Load);
        return ChangeIdsAsync(
            now => now with
            {
                LoadsDrawn = Math.Max(now.LoadsDrawn, load),
                MarksDrawn = Math.Max(now.MarksDrawn, ids.Mark),
                LoadsConfirmed = Math.Max(now.LoadsConfirmed, load),
                MarksConfirmed = Math.Max(now.MarksConfirmed, ids.Mark),
            },
            cancellationToken);
    }

    /// <summary>
    /// Changes the ids under their ETag, again where somebody else was first; writes nothing where nothing
    /// changes.
    /// </summary>
    private async Task<Ids> ChangeIdsAsync(Func<Ids, Ids> change, CancellationToken cancellationToken)
    {
        const string Operation = "drawing of an id";
        while (true)
        {
            var (now, etag) = await ReadIdsAsync(cancellationToken);
            var changed = change(now);
            if (changed == now)
                return now;
            var done = etag is null
                ? await tables.InsertAsync(table, StorePartition, IdsRow, changed.Write, Operation, cancellationToken)
                : await tables.ReplaceAsync(table, StorePartition, IdsRow, etag, changed.Write, Operation, cancellationToken);
            if (done)
                return changed;
        }
    }

    private async Task<(Ids Ids, string? ETag)> ReadIdsAsync(CancellationToken cancellationToken)
    {
        if (await tables.GetAsync(table, StorePartition, IdsRow, "reading of the store's ids", cancellationToken) is not { } entity)
            return (new Ids(0, 0, 0, 0), null);
        if (entity.TryGetProperty(nameof(Ids.LoadsDrawn), out var loads) && loads.TryGetInt32(out var loadsDrawn)
            && entity.TryGetProperty(nameof(Ids.MarksDrawn), out var marks) && marks.TryGetInt32(out var marksDrawn)
            && entity.TryGetProperty(nameof(Ids.LoadsConfirmed), out loads) && loads.TryGetInt32(out var loadsConfirmed)
            && entity.TryGetProperty(nameof(Ids.MarksConfirmed), out marks) && marks.TryGetInt32(out var marksConfirmed))
        {
            var ids = new Ids(loadsDrawn, marksDrawn, loadsConfirmed, marksConfirmed)
            {
                MovingOn = entity.TryGetProperty(nameof(Ids.MovingOn), out _),
            };
            return (ids, entity.GetProperty("odata.etag").GetString()!);
        }
        throw new StoreMismatchException($"the store's ids in table {table} can't be read: the table was written by something else");
    }

    public Task MarkOpenAsync(long load, CancellationToken cancellationToken) =>
        tables.PutAsync(
            table, OpenPartition, load.ToString(CultureInfo.InvariantCulture), static _ => { }, "marking of a load as open",
            cancellationToken);

    public async Task<IReadOnlyList<(long Load, string Version)>> ListOpenAsync(CancellationToken cancellationToken)
    {
        var open = new List<(long, string)>();
        await foreach (
            var entity in tables.QueryAsync(table, $"PartitionKey eq '{OpenPartition}'", null, "listing of open loads", cancellationToken))
        {
            if (long.TryParse(entity.GetProperty("RowKey").GetString(), NumberStyles.None, CultureInfo.InvariantCulture, out var load))
                open.Add((load, entity.GetProperty("odata.etag").GetString()!));
        }

        open.Sort();
        return open;
    }

    public Task ClearOpenAsync(long load, string version, CancellationToken cancellationToken) =>
        tables.DeleteAsync(
            table, OpenPartition, load.ToString(CultureInfo.InvariantCulture), version, "clearing of a load's mark", cancellationToken);

    public async Task<string> MarkBehindAsync(DateTimeOffset now, CancellationToken cancellationToken)
    {
        var mark = Guid.NewGuid().ToString("N");
        await tables.PutAsync(
            table, CataloguePartition, mark, writer => writer.WriteString(SetAt, Text(now)),
            "marking of the catalogue as behind", cancellationToken);
        return mark;
    }

    public async Task<IReadOnlyList<(string Mark, DateTimeOffset SetAt)>> ListBehindAsync(CancellationToken cancellationToken)
    {
        var marks = new List<(string Mark, DateTimeOffset SetAt)>();
        await foreach (var entity in tables.QueryAsync(
            table, $"PartitionKey eq '{CataloguePartition}'", null, "listing of the catalogue's marks", cancellationToken))
        {
            // One that can't be read is as good as an old one.
            var isKnown = DateTimeOffset.TryParse(
                entity.TryGetProperty(SetAt, out var text) ? text.GetString() : null, CultureInfo.InvariantCulture, out var setAt);
            marks.Add((entity.GetProperty("RowKey").GetString()!, isKnown ? setAt : DateTimeOffset.MinValue));
        }
        return [.. marks.OrderBy(mark => mark.SetAt)];
    }

    public Task ClearBehindAsync(string mark, CancellationToken cancellationToken) =>
        tables.DeleteAsync(table, CataloguePartition, mark, "*", "clearing of the catalogue's mark", cancellationToken);

    public async Task<bool> HasReceiptAsync(BlobVersion blob, CancellationToken cancellationToken) =>
        await FindReceiptAsync(blob, cancellationToken) is { } receipt && !receipt.TryGetProperty(SentAt, out _);

    public async Task<bool> TryMarkSentAsync(BlobVersion blob, DateTimeOffset now, TimeSpan shortWhile, CancellationToken cancellationToken)
    {
        const string Operation = "noting of a blob's message";
        if (await FindReceiptAsync(blob, cancellationToken) is not { } receipt)
            return await tables.InsertAsync(table, ReceiptPartition, ReceiptKey(blob), Write, Operation, cancellationToken);
        if (!receipt.TryGetProperty(SentAt, out var sent)
            || !DateTimeOffset.TryParse(sent.GetString(), CultureInfo.InvariantCulture, out var sentAt) || now - sentAt < shortWhile)
            return false;
        return await tables.ReplaceAsync(
            table, ReceiptPartition, ReceiptKey(blob), receipt.GetProperty("odata.etag").GetString()!, Write, Operation, cancellationToken);

        void Write(Utf8JsonWriter writer) => writer.WriteString(SentAt, Text(now));
    }

    public Task AddReceiptAsync(BlobVersion blob, CancellationToken cancellationToken) =>
        tables.PutAsync(table, ReceiptPartition, ReceiptKey(blob), static _ => { }, "recording of a blob's receipt", cancellationToken);

    public Task AddRemovedAsync(BlobVersion blob, CancellationToken cancellationToken) => tables.PutAsync(
        table, ReceiptPartition, ReceiptKey(blob), static writer => writer.WriteBoolean(Removed, true), "recording of a load's removal",
        cancellationToken);

    public async Task<bool> WasRemovedAsync(BlobVersion blob, CancellationToken cancellationToken) =>
        await FindReceiptAsync(blob, cancellationToken) is { } receipt && receipt.TryGetProperty(Removed, out _);

    private Task<JsonElement?> FindReceiptAsync(BlobVersion blob, CancellationToken cancellationToken) =>
        tables.GetAsync(table, ReceiptPartition, ReceiptKey(blob), "look-up of a blob's receipt", cancellationToken);

    /// <summary>A blob's name may hold what a key may not, and be longer.</summary>
    private static string ReceiptKey(BlobVersion blob) =>
        Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes($"{blob.Name}\n{blob.ETag}")));

    private sealed record Ids(int LoadsDrawn, int MarksDrawn, int LoadsConfirmed, int MarksConfirmed)
    {
        /// <summary>The property is there while it is so.</summary>
        public bool MovingOn { get; init; }

        public void Write(Utf8JsonWriter writer)
        {
            writer.WriteNumber(nameof(LoadsDrawn), LoadsDrawn);
            writer.WriteNumber(nameof(MarksDrawn), MarksDrawn);
            writer.WriteNumber(nameof(LoadsConfirmed), LoadsConfirmed);
            writer.WriteNumber(nameof(MarksConfirmed), MarksConfirmed);
            if (MovingOn)
                writer.WriteBoolean(nameof(MovingOn), true);
        }
    }
}
