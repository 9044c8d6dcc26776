namespace HibpIngest.Storage.Azure.Tables;

/// <summary>Rows of one partition that a request writes or reads: PREFIX00, PREFIX01, and so on.</summary>
public sealed record RowBlock(string Partition, string Prefix, int Rows)
{
    public string RowKey(int index) => string.Create(CultureInfo.InvariantCulture, $"{Prefix}{index:D2}");
}

/// <summary>
/// A table for measurements. Each call is one request, without the pacing of upserts, and returns the number of entities, or null if it was
/// throttled. Single entities go through Azure.Data.Tables. Transactions are those of a load (InsertOrMerge): the library's would measure
/// this machine's CPU (<see cref="TableService"/>).
/// </summary>
public sealed class MeasuredTable
{
    private const int InsertedMark = 1;
    private const int MergedMark = 2;

    private readonly TableService _service;
    private readonly TableClient _client;
    private readonly StorageTable _table;

    internal MeasuredTable(TableService service, TableClient client) =>
        (_service, _client, _table) = (service, client, new StorageTable(service, client));

    public Task<bool> CreateAsync(CancellationToken cancellationToken) => _table.CreateAsync(cancellationToken);

    public Task DropAsync(CancellationToken cancellationToken) => _table.DropAsync(cancellationToken);

    public Task<int?> InsertAsync(RowBlock rows, CancellationToken cancellationToken) => rows.Rows == 1
        ? SendAsync("insert", () => _client.AddEntityAsync(Entity(rows, InsertedMark), cancellationToken), 1, cancellationToken)
        : SubmitAsync(rows, InsertedMark, cancellationToken);

    public Task<int?> MergeAsync(RowBlock rows, CancellationToken cancellationToken) => rows.Rows == 1
        ? SendAsync(
            "merge", () => _client.UpsertEntityAsync(Entity(rows, MergedMark), TableUpdateMode.Merge, cancellationToken), 1,
            cancellationToken)
        : SubmitAsync(rows, MergedMark, cancellationToken);

    public Task<int?> ReadAsync(RowBlock rows, int index, CancellationToken cancellationToken) => SendAsync(
        "point read", () => _client.GetEntityAsync<TableEntity>(rows.Partition, rows.RowKey(index), null, cancellationToken), 1,
        cancellationToken);

    /// <summary>Reads the rows by one query; only its first page, which may have fewer of them.</summary>
    public async Task<int?> QueryAsync(RowBlock rows, CancellationToken cancellationToken)
    {
        var filter = TableClient.CreateQueryFilter(
            $"PartitionKey eq {rows.Partition} and RowKey ge {rows.RowKey(0)} and RowKey le {rows.RowKey(rows.Rows - 1)}");
        var found = 0;
        return await SendAsync("range query", async () =>
        {
            var pages = _client.QueryAsync<TableEntity>(filter, null, null, cancellationToken).AsPages();
            found = (await pages.FirstAsync(cancellationToken)).Values.Count;
        }, 0, cancellationToken) is null ? null : found;
    }

    private static TableEntity Entity(RowBlock rows, int mark) =>
        new(rows.Partition, rows.RowKey(0)) { [MarkTable.Property(mark)] = true };

    private async Task<int?> SendAsync(string operation, Func<Task> request, int entities, CancellationToken cancellationToken) =>
        await _service.WriteAsync(request, operation, cancellationToken) is null ? entities : null;

    private async Task<int?> SubmitAsync(RowBlock rows, int mark, CancellationToken cancellationToken)
    {
        var keys = Encoding.ASCII.GetBytes(string.Concat(Enumerable.Range(0, rows.Rows).Select(rows.RowKey)));
        var length = keys.Length / rows.Rows;
        Range[] ranges = [.. Enumerable.Range(0, rows.Rows).Select(index => (index * length)..((index + 1) * length))];
        return await _table.SubmitAsync(
            address => TableTransaction.Upsert(address, Encoding.ASCII.GetBytes(rows.Partition), ranges, keys, mark), cancellationToken)
            is null ? rows.Rows : null;
    }
}
