using System.Globalization;
using System.Runtime.CompilerServices;
using System.Text;
using System.Text.Json;
using HibpIngest.Errors;
using HibpIngest.Stores;
using Microsoft.Extensions.Logging;

namespace HibpIngest.AzureStorage.Tables;

/// <summary>
/// A table whose rows gather marks: accounts, or their hashes. Its writes go the <see cref="WriteThrottle"/>'s
/// way, by partition.
/// </summary>
/// <param name="tables">The service.</param>
/// <param name="throttle">That of the storage account: what it takes, all its tables share.</param>
/// <param name="table">Its name.</param>
/// <param name="partStarts">
/// The first characters of partition keys, which divide the table into parts. What lies between two of them
/// belongs to the part before, what lies beyond to the first or the last.
/// </param>
/// <param name="logger">For the parts that were walked.</param>
internal abstract partial class MarkTable(
    TableService tables, WriteThrottle throttle, string table, string partStarts, ILogger logger)
{
    private readonly byte[] _address = tables.TableAddress(table);

    protected TableService Tables => tables;

    protected string Table => table;

    public Task CreateAsync(CancellationToken cancellationToken) => tables.CreateTableAsync(table, cancellationToken);

    public Task DropAsync(CancellationToken cancellationToken) => tables.DropTableAsync(table, cancellationToken);

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
                table, partition, 1, inFlight, Alone(partition, bytes[rows.Span[0]], RowOf(mark), new[] { mark }, cancellationToken));
            return;
        }

        await SendAsync(
            partition, rows.Length, inFlight,
            address => TableTransaction.Upsert(address, partition.Span, rows.Span, bytes.Span, mark), cancellationToken);
    }

    public async Task MergeAsync(ReadOnlyMemory<byte> partition, MarkedRows rows, CancellationToken cancellationToken)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThan(rows.Rows.Length, IAccountTable.MaxTransactionEntities);
        if (rows.Rows.IsEmpty)
            return;
        if (rows.Rows.Length > 1)
        {
            await SendPatientlyAsync(
                partition, rows.Rows.Length, address => TableTransaction.Merge(address, partition.Span, rows), cancellationToken);
            return;
        }
        var one = rows.Rows.Span[0];
        await throttle.SendPatientlyAsync(
            table, partition, 1, Alone(partition, rows.Bytes[one.Key], one.Row, rows.Marks[one.Marks], cancellationToken),
            cancellationToken);
    }

    /// <summary>
    /// Most domains of a breach have one account in it. Without the envelope of a transaction, the emulator takes 40% less
    /// time over it.
    /// </summary>
    private Func<Task<WriteRefusal?>> Alone(
        ReadOnlyMemory<byte> partition, ReadOnlyMemory<byte> key, int row, ReadOnlyMemory<int> marks, CancellationToken cancellationToken)
    {
        var (partitionKey, rowKey) = (Encoding.ASCII.GetString(partition.Span), RowKey(Encoding.ASCII.GetString(key.Span), row));
        return () => tables.MergeAsync(table, partitionKey, rowKey, Write, "upsert of 1 account", cancellationToken);

        void Write(Utf8JsonWriter writer)
        {
            foreach (var mark in marks.Span)
                writer.WriteBoolean(Property(mark), true);
        }
    }

    /// <summary>Sends a transaction in its turn.</summary>
    /// <param name="partition">Its partition.</param>
    /// <param name="entities">How many it has.</param>
    /// <param name="inFlight">Where the caller has entered.</param>
    /// <param name="write">Told the table's address.</param>
    /// <param name="cancellationToken">Stops it.</param>
    protected Task SendAsync(
        ReadOnlyMemory<byte> partition, int entities, TransactionsInFlight inFlight, Func<byte[], TableTransaction> write,
        CancellationToken cancellationToken) =>
        throttle.SendAsync(table, partition, entities, inFlight, async () =>
        {
            // Not before its turn: thousands may wait for it.
            using var transaction = write(_address);
            return await tables.SubmitAsync(transaction, cancellationToken);
        });

    /// <summary>The same by itself, however long its turn is in coming.</summary>
    protected Task SendPatientlyAsync(
        ReadOnlyMemory<byte> partition, int entities, Func<byte[], TableTransaction> write, CancellationToken cancellationToken) =>
        throttle.SendPatientlyAsync(table, partition, entities, async () =>
        {
            using var transaction = write(_address);
            return await tables.SubmitAsync(transaction, cancellationToken);
        }, cancellationToken);

    protected string PartFilter(int part)
    {
        var from = part > 0 ? $"PartitionKey ge '{partStarts[part]}'" : "";
        var to = part < partStarts.Length - 1 ? $"PartitionKey lt '{partStarts[part + 1]}'" : "";
        return $"{from}{(from.Length > 0 && to.Length > 0 ? " and " : "")}{to}";
    }

    /// <summary>A token that is no longer taken is as good as none: what was done before does no harm.</summary>
    protected async Task<(IReadOnlyList<JsonElement> Entities, string? Next)> QueryPageAsync(
        string filter, string? token, string operation, CancellationToken cancellationToken)
    {
        try
        {
            return await tables.QueryPageAsync(table, filter, token, operation, cancellationToken);
        }
        catch (StoreRefusedException) when (token is not null)
        {
            return await tables.QueryPageAsync(table, filter, null, operation, cancellationToken);
        }
    }

    /// <summary>The keys that a filter finds, in order, each once with the marks of all its rows.</summary>
    protected async IAsyncEnumerable<(string Key, IReadOnlyList<int> Marks)> ReadKeysAsync(
        string filter, string? select, string operation, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        (string Key, IReadOnlyList<int> Marks)? pending = null;
        await foreach (var page in tables.QueryBytesAsync(table, filter, select, operation, cancellationToken))
        {
            foreach (var (rowKey, marks) in ReadPage(page, operation))
            {
                // The rows of a key lie side by side: '!' sorts below every character of one.
                var (key, _) = SplitRowKey(rowKey);
                if (pending is { } before && before.Key == key)
                {
                    pending = (key, [.. before.Marks.Concat(marks).Order()]);
                    continue;
                }
                if (pending is { } whole)
                    yield return whole;
                pending = (key, marks);
            }
        }
        if (pending is { } last)
            yield return last;
    }

    private static List<(string Key, IReadOnlyList<int> Marks)> ReadPage(ReadOnlyMemory<byte> page, string operation)
    {
        try
        {
            return MarkRows.ReadPage(page.Span);
        }
        catch (JsonException)
        {
            throw TableAnswer.Malformed(operation);
        }
    }

    protected static string Property(int mark) => string.Create(CultureInfo.InvariantCulture, $"b{mark}");

    /// <summary>Which of a key's rows has a mark.</summary>
    protected static int RowOf(int mark) => (mark - 1) / IAccountTable.MarksPerRow;

    protected static string RowKey(string key, int row) => row == 0 ? key : string.Create(CultureInfo.InvariantCulture, $"{key}!{row}");

    /// <summary>What "key!n" is made of; 0 where nothing is behind the key.</summary>
    protected static (string Key, int Row) SplitRowKey(string rowKey)
    {
        var mark = rowKey.IndexOf('!', StringComparison.Ordinal);
        if (mark < 0)
            return (rowKey, 0);
        _ = int.TryParse(rowKey.AsSpan(mark + 1), NumberStyles.None, CultureInfo.InvariantCulture, out var row);
        return (rowKey[..mark], row);
    }

    /// <summary>The marks that an entity has, in no order.</summary>
    protected static IEnumerable<int> MarksOf(JsonElement entity) =>
        entity.EnumerateObject().Where(IsMark).Select(property => MarkOf(property.Name));

    private static bool IsMark(JsonProperty property) => property.Value.ValueKind == JsonValueKind.True && MarkOf(property.Name) > 0;

    /// <summary>17 of "b17"; 0 of any other name.</summary>
    private static int MarkOf(string property) =>
        property.Length > 1 && property[0] == 'b'
        && int.TryParse(property.AsSpan(1), NumberStyles.None, CultureInfo.InvariantCulture, out var id) ? id : 0;
}
