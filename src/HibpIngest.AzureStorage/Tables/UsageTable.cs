using System.Globalization;
using System.Runtime.CompilerServices;
using System.Text;
using System.Text.Json;
using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.AzureStorage.Tables;

/// <summary>A partition an hour; a row a blob, status, key and route of it.</summary>
internal sealed class UsageTable(TableService tables, WriteThrottle throttle, string table) : IUsageTable
{
    private const string HourFormat = "yyyyMMddHH";
    private const string NoKey = "-";

    private const string Reading = "reading of counts of requests";

    // All but the row's key, which is longer than they are.
    private static readonly string Properties = string.Join(
        ',', "PartitionKey", nameof(UsageRow.Route), nameof(UsageRow.Status), nameof(UsageRow.Key), nameof(UsageRow.Requests),
        nameof(UsageRow.Bytes), nameof(UsageRow.Microseconds), nameof(UsageRow.LongestMicroseconds));

    public Task CreateAsync(CancellationToken cancellationToken) => tables.CreateTableAsync(table, cancellationToken);

    public async Task WriteAsync(string blob, IReadOnlyList<UsageRow> rows, CancellationToken cancellationToken)
    {
        var (address, source) = (tables.TableAddress(table), KeySafe(blob));
        foreach (var hour in rows.GroupBy(row => Partition(row.Hour)))
        {
            var partition = Encoding.ASCII.GetBytes(hour.Key);
            foreach (var some in hour.Select(row => (RowKey(source, row), row)).Chunk(IAccountTable.MaxTransactionEntities))
            {
                await throttle.SendPatientlyAsync(table, partition, some.Length, async () =>
                {
                    using var transaction = TableTransaction.Usage(address, partition, some);
                    return await tables.SubmitAsync(transaction, cancellationToken);
                }, cancellationToken);
            }
        }
    }

    public async IAsyncEnumerable<UsageRow> ReadAsync(
        DateTimeOffset from, DateTimeOffset to, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        await using var entities = tables.QueryAsync(
            table, $"PartitionKey ge '{Partition(from)}' and PartitionKey lt '{Partition(to)}'", Properties, Reading, cancellationToken)
            .GetAsyncEnumerator(cancellationToken);
        while (await MoveNextAsync(entities))
            yield return Read(entities.Current);
    }

    /// <summary>The properties of a row.</summary>
    internal static void Write(Utf8JsonWriter json, UsageRow row)
    {
        json.WriteString(nameof(UsageRow.Route), row.Route);
        json.WriteNumber(nameof(UsageRow.Status), row.Status);
        json.WriteString(nameof(UsageRow.Key), row.Key);
        WriteLong(nameof(UsageRow.Requests), row.Requests);
        WriteLong(nameof(UsageRow.Bytes), row.Bytes);
        WriteLong(nameof(UsageRow.Microseconds), row.Microseconds);
        WriteLong(nameof(UsageRow.LongestMicroseconds), row.LongestMicroseconds);

        void WriteLong(string name, long value)
        {
            // 64 bits are text in OData, and said to be.
            json.WriteString($"{name}@odata.type", "Edm.Int64");
            json.WriteString(name, value.ToString(CultureInfo.InvariantCulture));
        }
    }

    private static string Partition(DateTimeOffset hour) => hour.UtcDateTime.ToString(HourFormat, CultureInfo.InvariantCulture);

    private static string RowKey(string source, UsageRow row) => string.Create(
        CultureInfo.InvariantCulture,
        $"{source}|{row.Status}|{(row.Key.Length == 0 ? NoKey : row.Key)}|{KeySafe(row.Route)}");

    /// <summary>
    /// As part of a key, which takes no '/', '\', '#', '?' and no control character: those, and what parts and escapes here, as '!' and
    /// two hex digits for each byte.
    /// </summary>
    private static string KeySafe(string text)
    {
        var safe = new StringBuilder(text.Length + 16);
        foreach (var one in Encoding.UTF8.GetBytes(text))
        {
            if (char.IsAsciiLetterOrDigit((char)one) || "-._~{}*:".Contains((char)one))
                safe.Append((char)one);
            else
                safe.Append(CultureInfo.InvariantCulture, $"!{one:X2}");
        }
        return safe.ToString();
    }

    private static async Task<bool> MoveNextAsync(IAsyncEnumerator<JsonElement> entities)
    {
        try
        {
            return await entities.MoveNextAsync();
        }
        catch (StoreMissingException)
        {
            return false; // nothing was ever counted
        }
    }

    private UsageRow Read(JsonElement entity)
    {
        if (Text("PartitionKey") is { } partition
            && DateTimeOffset.TryParseExact(
                partition, HourFormat, CultureInfo.InvariantCulture, DateTimeStyles.AssumeUniversal | DateTimeStyles.AdjustToUniversal,
                out var hour)
            && Text(nameof(UsageRow.Route)) is { } route && Text(nameof(UsageRow.Key)) is { } key
            && entity.TryGetProperty(nameof(UsageRow.Status), out var number) && number.TryGetInt32(out var status)
            && Long(nameof(UsageRow.Requests)) is { } requests && Long(nameof(UsageRow.Bytes)) is { } bytes
            && Long(nameof(UsageRow.Microseconds)) is { } took && Long(nameof(UsageRow.LongestMicroseconds)) is { } longest)
        {
            return new UsageRow(hour, route, status, key)
            {
                Requests = requests,
                Bytes = bytes,
                Microseconds = took,
                LongestMicroseconds = longest,
            };
        }
        throw new StoreMismatchException($"a row of table {table} can't be read: the table was written by something else");

        string? Text(string name) =>
            entity.TryGetProperty(name, out var value) && value.ValueKind == JsonValueKind.String ? value.GetString() : null;

        long? Long(string name) =>
            long.TryParse(Text(name), NumberStyles.None, CultureInfo.InvariantCulture, out var value) ? value : null;
    }
}
