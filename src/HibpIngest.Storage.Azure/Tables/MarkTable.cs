using Microsoft.Extensions.Logging;

namespace HibpIngest.Storage.Azure.Tables;

/// <summary>A table whose rows collect marks: accounts or their hashes. Writes go through the <see cref="WriteThrottle"/>.</summary>
/// <param name="throttle">Shared by all tables of the storage account.</param>
/// <param name="partStarts">
/// First characters of partition keys that divide the table into parts. Keys between two of them belong to the part of the lower one, keys
/// outside to the first or the last part.
/// </param>
internal abstract partial class MarkTable(StorageTable table, WriteThrottle throttle, string partStarts, ILogger logger)
{
    protected StorageTable Table => table;

    public Task CreateAsync(CancellationToken cancellationToken) => table.CreateAsync(cancellationToken);

    public Task DropAsync(CancellationToken cancellationToken) => table.DropAsync(cancellationToken);

    public async Task UpsertAsync(
        ReadOnlyMemory<byte> partition, ReadOnlyMemory<Range> rows, ReadOnlyMemory<byte> bytes, int mark, TransactionsInFlight inFlight,
        CancellationToken cancellationToken)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(mark, 1);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(rows.Length, IAccountTable.MaxTransactionEntities);
        if (rows.IsEmpty)
            return;
        if (rows.Length == 1)
        {
            await throttle.SendAsync(
                table.Name, partition, 1, inFlight,
                SingleUpsert(partition, bytes[rows.Span[0]], RowOf(mark), new[] { mark }, cancellationToken));
            return;
        }
        // The body is built when the transaction is sent: thousands may be waiting.
        await throttle.SendAsync(
            table.Name, partition, rows.Length, inFlight,
            () => table.SubmitAsync(
                address => TableTransaction.Upsert(address, partition.Span, rows.Span, bytes.Span, mark), cancellationToken));
    }

    public async Task MergeAsync(ReadOnlyMemory<byte> partition, MarkedRows rows, CancellationToken cancellationToken)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThan(rows.Rows.Length, IAccountTable.MaxTransactionEntities);
        if (rows.Rows.IsEmpty)
            return;
        if (rows.Rows.Length > 1)
        {
            await throttle.SendWithoutTimeoutAsync(
                table.Name, partition, rows.Rows.Length,
                () => table.SubmitAsync(address => TableTransaction.Merge(address, partition.Span, rows), cancellationToken),
                cancellationToken);
            return;
        }
        var one = rows.Rows.Span[0];
        await throttle.SendWithoutTimeoutAsync(
            table.Name, partition, 1, SingleUpsert(partition, rows.Bytes[one.Key], one.Row, rows.Marks[one.Marks], cancellationToken),
            cancellationToken);
    }

    public Task PutOptOutAsync(string partition, string key, OptOutLevel level, CancellationToken cancellationToken) =>
        throttle.SendWithoutTimeoutAsync(
            table.Name, Encoding.ASCII.GetBytes(partition), 1,
            () => table.MergeAsync(
                new TableEntity(partition, key) { [OptOut.Property] = OptOut.ValueOf(level) }, "recording of an opt-out",
                cancellationToken),
            cancellationToken);

    // No transaction: most domains of a breach have one account in it, and without one the emulator takes 40% less time.
    private Func<Task<WriteRefusal?>> SingleUpsert(
        ReadOnlyMemory<byte> partition, ReadOnlyMemory<byte> key, int row, ReadOnlyMemory<int> marks, CancellationToken cancellationToken)
    {
        var (partitionKey, rowKey) = (Encoding.ASCII.GetString(partition.Span), RowKey(Encoding.ASCII.GetString(key.Span), row));
        return () =>
        {
            var entity = new TableEntity(partitionKey, rowKey);
            foreach (var mark in marks.Span)
                entity[Property(mark)] = true;
            return table.MergeAsync(entity, "upsert of 1 account", cancellationToken);
        };
    }

    protected string PartFilter(int part)
    {
        var from = part > 0 ? $"PartitionKey ge '{partStarts[part]}'" : "";
        var to = part < partStarts.Length - 1 ? $"PartitionKey lt '{partStarts[part + 1]}'" : "";
        return $"{from}{(from.Length > 0 && to.Length > 0 ? " and " : "")}{to}";
    }

    /// <summary>Begins again without the token if the service refuses it: repeating the work does no harm.</summary>
    protected async Task<(IReadOnlyList<TableEntity> Entities, string? Next)> QueryPageAsync(
        string filter, string? token, string operation, CancellationToken cancellationToken)
    {
        // Written by an older version, which stored the query string.
        if (token is ['&', ..])
            token = null;
        try
        {
            return await table.QueryPageAsync(filter, token, operation, cancellationToken);
        }
        catch (StoreRefusedException) when (token is not null)
        {
            return await table.QueryPageAsync(filter, null, operation, cancellationToken);
        }
    }

    /// <summary>Returns the keys that match a filter, in order, each once with the marks of all its rows.</summary>
    protected async IAsyncEnumerable<(string Key, IReadOnlyList<int> Marks)> ReadKeysAsync(
        string filter, IEnumerable<string>? select, string operation, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        (string Key, IReadOnlyList<int> Marks)? pending = null;
        await foreach (var entity in table.QueryAsync(filter, select, operation, cancellationToken: cancellationToken))
        {
            // The rows of a key are adjacent: '!' sorts below every character of a key.
            var (key, _) = SplitRowKey(entity.RowKey);
            var marks = MarksOf(entity);
            if (pending is { } before && before.Key == key)
            {
                pending = (key, [.. before.Marks.Concat(marks).Order()]);
                continue;
            }
            if (pending is { } whole)
                yield return whole;
            pending = (key, marks);
        }
        if (pending is { } last)
            yield return last;
    }

    internal static string Property(int mark) => string.Create(CultureInfo.InvariantCulture, $"b{mark}");

    protected static int RowOf(int mark) => (mark - 1) / IAccountTable.MarksPerRow;

    protected static string RowKey(string key, int row) => row == 0 ? key : string.Create(CultureInfo.InvariantCulture, $"{key}!{row}");

    /// <summary>Splits "key!n"; the row is 0 if there is no suffix.</summary>
    protected static (string Key, int Row) SplitRowKey(string rowKey)
    {
        var mark = rowKey.IndexOf('!', StringComparison.Ordinal);
        if (mark < 0)
            return (rowKey, 0);
        _ = int.TryParse(rowKey.AsSpan(mark + 1), NumberStyles.None, CultureInfo.InvariantCulture, out var row);
        return (rowKey[..mark], row);
    }

    /// <summary>Returns the marks of an entity, ascending; an opt-out is a negative one.</summary>
    protected static IReadOnlyList<int> MarksOf(TableEntity entity)
    {
        var marks = new List<int>(entity.Count);
        foreach (var (name, value) in entity)
        {
            if (value is true && MarkOf(name) is > 0 and var mark)
                marks.Add(mark);
            else if (name == OptOut.Property && OptOut.MarkOf(value as string) is < 0 and var optOut)
                marks.Add(optOut);
        }
        marks.Sort();
        return marks;
    }

    /// <summary>Returns 17 for "b17", 0 for any other name.</summary>
    private static int MarkOf(string property) =>
        property.Length > 1 && property[0] == 'b'
        && int.TryParse(property.AsSpan(1), NumberStyles.None, CultureInfo.InvariantCulture, out var id) ? id : 0;
}
