using System.Globalization;
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
            // Most domains of a breach have one account in it. Without the envelope of a transaction, the
            // emulator takes 40% less time over it.
            var row = Encoding.ASCII.GetString(bytes.Span[rows.Span[0]]);
            var (partitionKey, rowKey) = (Encoding.ASCII.GetString(partition.Span), RowKey(row, RowOf(mark)));
            await throttle.SendAsync(table, partition, 1, inFlight, () =>
                tables.MergeAsync(
                    table, partitionKey, rowKey, writer => writer.WriteBoolean(Property(mark), true), "upsert of 1 account",
                    cancellationToken));
            return;
        }

        await SendAsync(
            partition, rows.Length, inFlight,
            address => TableTransaction.Upsert(address, partition.Span, rows.Span, bytes.Span, mark), cancellationToken);
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
    protected async Task SendPatientlyAsync(
        ReadOnlyMemory<byte> partition, int entities, Func<byte[], TableTransaction> write, CancellationToken cancellationToken)
    {
        var inFlight = new TransactionsInFlight(1, cancellationToken);
        await inFlight.EnterAsync();
        try
        {
            await SendAsync(partition, entities, inFlight, write, cancellationToken);
        }
        catch (StoreThrottledException)
        {
            cancellationToken.ThrowIfCancellationRequested();
            throw;
        }
    }

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
