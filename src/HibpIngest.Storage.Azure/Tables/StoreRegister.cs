namespace HibpIngest.Storage.Azure.Tables;

/// <summary>
/// The store register, by partition: <c>store</c> (the identity, this storage account's number in the store, the ids), <c>layout</c> (a row
/// per layout, and <c>read</c>, which names the one in use), <c>open</c> (a row per load), <c>receipt</c> (a row per blob version; with
/// SentAt it is no receipt yet, with Removed its load was removed), <c>catalogue</c> (a row per writer that may leave the catalogue stale),
/// <c>host</c> (a row per process), <c>suppression</c> (rows <c>hash!number</c>, of which the last counts, and <c>check</c>),
/// <c>optout</c> (a row per address, by its SHA-1).
/// </summary>
internal sealed partial class StoreRegister(StorageTable table, TimeProvider time) : IStoreRegister
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

    public Task CreateAsync(CancellationToken cancellationToken) => table.CreateAsync(cancellationToken);

    public async Task<StoreIdentity?> GetIdentityAsync(CancellationToken cancellationToken)
    {
        if (await table.FindAsync(StorePartition, IdentityRow, "reading of the store's identity", cancellationToken) is not { } entity)
            return null;
        if (Guid.TryParse(entity["Id"] as string, out var id) && entity["PartitionSpread"] is int partitionSpread
            && entity["StorageAccounts"] is int storageAccounts)
            return new StoreIdentity(id, partitionSpread, storageAccounts);
        throw table.Unreadable("the store's identity in");
    }

    public async Task<StoreIdentity> AddIdentityAsync(StoreIdentity identity, CancellationToken cancellationToken)
    {
        var entity = new TableEntity(StorePartition, IdentityRow)
        {
            ["Id"] = identity.Id.ToString("D"),
            ["PartitionSpread"] = identity.PartitionSpread,
            ["StorageAccounts"] = identity.StorageAccounts,
        };
        // The stored identity counts, whether this insert wrote it or another did: after a lost response the insert is sent again.
        await table.AddAsync(entity, "recording of the store's identity", cancellationToken);
        return await GetIdentityAsync(cancellationToken)
            ?? throw new StoreMismatchException($"the store's identity has just been deleted from table {table.Name}");
    }

    /// <summary>An account from when stores had only one has no row of its own: its identity follows from the store's.</summary>
    public async Task<StorageAccountIdentity?> FindAccountAsync(CancellationToken cancellationToken)
    {
        const string Operation = "reading of the storage account's identity";
        try
        {
            if (await table.FindAsync(StorePartition, AccountRow, Operation, cancellationToken) is not { } entity)
            {
                return await GetIdentityAsync(cancellationToken) is { } identity
                    ? new StorageAccountIdentity(identity.Id, Number: 1, Of: 1) : null;
            }
            if (Guid.TryParse(entity["Id"] as string, out var id) && entity["Number"] is int number && entity["Of"] is int of)
                return new StorageAccountIdentity(id, number, of);
        }
        catch (StoreMissingException)
        {
            return null; // the register doesn't exist yet
        }
        throw new StoreMismatchException($"table {table.Name}: the entity that identifies this storage account is malformed, or was "
            + "written by another program; use another storage account, or the program that wrote it");
    }

    public Task PutAccountAsync(StorageAccountIdentity identity, CancellationToken cancellationToken)
    {
        var entity = new TableEntity(StorePartition, AccountRow)
        {
            ["Id"] = identity.Store.ToString("D"),
            ["Number"] = identity.Number,
            ["Of"] = identity.Of,
        };
        return table.PutAsync(entity, "recording of the storage account's identity", cancellationToken);
    }

    public async Task<LoadId> DrawLoadAsync(CancellationToken cancellationToken) =>
        new((await ChangeIdsAsync(ids => ids with { LoadsDrawn = ids.LoadsDrawn + 1 }, cancellationToken)).LoadsDrawn);

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

    private async Task<Ids> ChangeIdsAsync(Func<Ids, Ids> change, CancellationToken cancellationToken)
    {
        const string Operation = "drawing of an id";
        while (true)
        {
            var (now, version) = await ReadIdsAsync(cancellationToken);
            var changed = change(now);
            if (changed == now)
                return now;
            var done = version is { } etag
                ? await table.ReplaceAsync(changed.ToEntity(), etag, Operation, cancellationToken) is not null
                : await table.AddAsync(changed.ToEntity(), Operation, cancellationToken);
            if (done)
                return changed;
        }
    }

    private async Task<(Ids Ids, ETag? Version)> ReadIdsAsync(CancellationToken cancellationToken)
    {
        if (await table.FindAsync(StorePartition, IdsRow, "reading of the store's ids", cancellationToken) is not { } entity)
            return (new Ids(0, 0, 0, 0), null);
        if (entity[nameof(Ids.LoadsDrawn)] is int loadsDrawn && entity[nameof(Ids.MarksDrawn)] is int marksDrawn
            && entity[nameof(Ids.LoadsConfirmed)] is int loadsConfirmed && entity[nameof(Ids.MarksConfirmed)] is int marksConfirmed)
        {
            var ids = new Ids(loadsDrawn, marksDrawn, loadsConfirmed, marksConfirmed)
            {
                MovingOn = entity.ContainsKey(nameof(Ids.MovingOn)),
            };
            return (ids, entity.ETag);
        }
        throw table.Unreadable("the store's ids in");
    }

    public Task MarkOpenAsync(LoadId load, CancellationToken cancellationToken) =>
        table.PutAsync(new TableEntity(OpenPartition, OpenRow(load)), "marking of a load as open", cancellationToken);

    public async Task<IReadOnlyList<(LoadId Load, string Version)>> ListOpenAsync(CancellationToken cancellationToken) =>
        await QueryAsync(OpenPartition, "listing of open loads", cancellationToken)
            .Where(entity => LoadOf(entity) is not null)
            .Select(entity => (Load: LoadOf(entity)!.Value, entity.ETag.ToString()))
            .OrderBy(open => open.Load.Value).ToListAsync(cancellationToken);

    public Task ClearOpenAsync(LoadId load, string version, CancellationToken cancellationToken) =>
        table.DeleteAsync(OpenPartition, OpenRow(load), new ETag(version), "clearing of a load's mark", cancellationToken);

    private static string OpenRow(LoadId load) => load.ToString();

    private static LoadId? LoadOf(TableEntity open) =>
        long.TryParse(open.RowKey, NumberStyles.None, CultureInfo.InvariantCulture, out var load) ? new(load) : null;

    public async Task<string> SetStaleMarkAsync(DateTimeOffset now, CancellationToken cancellationToken)
    {
        var mark = Guid.NewGuid().ToString("N");
        await table.PutAsync(
            new TableEntity(CataloguePartition, mark) { [SetAt] = TableText.Of(now) }, "marking of the catalogue as behind",
            cancellationToken);
        return mark;
    }

    // A row without a readable time counts as old.
    public async Task<IReadOnlyList<(string Mark, DateTimeOffset SetAt)>> ListStaleMarksAsync(CancellationToken cancellationToken) =>
        await QueryAsync(CataloguePartition, "listing of the catalogue's marks", cancellationToken)
            .Select(entity => (Mark: entity.RowKey, SetAt: TableText.TimeOf(entity, SetAt) ?? DateTimeOffset.MinValue))
            .OrderBy(mark => mark.SetAt).ToListAsync(cancellationToken);

    public Task ClearStaleMarkAsync(string mark, CancellationToken cancellationToken) =>
        table.DeleteAsync(CataloguePartition, mark, ETag.All, "clearing of the catalogue's mark", cancellationToken);

    public async Task<bool> HasReceiptAsync(BlobVersion blob, CancellationToken cancellationToken) =>
        await FindReceiptAsync(blob, cancellationToken) is { } receipt && !receipt.ContainsKey(SentAt);

    public async Task<bool> TryMarkSentAsync(BlobVersion blob, DateTimeOffset now, TimeSpan shortWhile, CancellationToken cancellationToken)
    {
        const string Operation = "noting of a blob's message";
        var sent = Receipt(blob);
        sent[SentAt] = TableText.Of(now);
        if (await FindReceiptAsync(blob, cancellationToken) is not { } receipt)
            return await table.AddAsync(sent, Operation, cancellationToken);
        return TableText.TimeOf(receipt, SentAt) is { } sentAt && now - sentAt >= shortWhile
            && await table.ReplaceAsync(sent, receipt.ETag, Operation, cancellationToken) is not null;
    }

    public Task AddReceiptAsync(BlobVersion blob, CancellationToken cancellationToken) =>
        table.PutAsync(Receipt(blob), "recording of a blob's receipt", cancellationToken);

    public Task AddRemovedAsync(BlobVersion blob, CancellationToken cancellationToken)
    {
        var receipt = Receipt(blob);
        receipt[Removed] = true;
        return table.PutAsync(receipt, "recording of a load's removal", cancellationToken);
    }

    public async Task<bool> WasRemovedAsync(BlobVersion blob, CancellationToken cancellationToken) =>
        await FindReceiptAsync(blob, cancellationToken) is { } receipt && receipt.ContainsKey(Removed);

    private Task<TableEntity?> FindReceiptAsync(BlobVersion blob, CancellationToken cancellationToken) =>
        table.FindAsync(ReceiptPartition, ReceiptKey(blob), "look-up of a blob's receipt", cancellationToken);

    private IAsyncEnumerable<TableEntity> QueryAsync(string partition, string operation, CancellationToken cancellationToken) =>
        table.QueryAsync($"PartitionKey eq '{partition}'", null, operation, cancellationToken: cancellationToken);

    private static TableEntity Receipt(BlobVersion blob) => new(ReceiptPartition, ReceiptKey(blob));

    /// <summary>Hashed: a blob's name may be longer than a key and hold characters that a key may not.</summary>
    private static string ReceiptKey(BlobVersion blob) =>
        Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes($"{blob.Name}\n{blob.ETag}")));

    private sealed record Ids(int LoadsDrawn, int MarksDrawn, int LoadsConfirmed, int MarksConfirmed)
    {
        /// <summary>The property exists only while this is true.</summary>
        public bool MovingOn { get; init; }

        public TableEntity ToEntity()
        {
            var entity = new TableEntity(StorePartition, IdsRow)
            {
                [nameof(LoadsDrawn)] = LoadsDrawn,
                [nameof(MarksDrawn)] = MarksDrawn,
                [nameof(LoadsConfirmed)] = LoadsConfirmed,
                [nameof(MarksConfirmed)] = MarksConfirmed,
            };
            if (MovingOn)
                entity[nameof(MovingOn)] = true;
            return entity;
        }
    }
}
