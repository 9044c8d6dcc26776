namespace HibpIngest.Storage.Azure.Tables;

/// <summary>One partition per hour; one row per blob, status, key and route.</summary>
internal sealed class UsageTable(StorageTable table, WriteThrottle throttle) : IUsageTable
{
    private const string HourFormat = "yyyyMMddHH";
    private const string NoKey = "-";

    // The row key is not selected: it is longer than the other properties, and only repeats some of them.
    private static readonly string[] Properties =
    [
        "PartitionKey", nameof(UsageRow.Route), nameof(UsageRow.Status), nameof(UsageRow.Key), nameof(UsageRow.Requests),
        nameof(UsageRow.Bytes), nameof(UsageRow.Microseconds), nameof(UsageRow.LongestMicroseconds),
    ];

    public Task CreateAsync(CancellationToken cancellationToken) => table.CreateAsync(cancellationToken);

    public async Task WriteAsync(string blob, IReadOnlyList<UsageRow> rows, CancellationToken cancellationToken)
    {
        var source = KeySafe(blob);
        foreach (var hour in rows.GroupBy(row => Partition(row.Hour)))
        {
            var partition = Encoding.ASCII.GetBytes(hour.Key);
            foreach (var chunk in hour.Select(row => ToEntity(source, row)).Chunk(IAccountTable.MaxTransactionEntities))
            {
                await throttle.SendWithoutTimeoutAsync(
                    table.Name, partition, chunk.Length,
                    () => table.SubmitAsync(
                        chunk.Select(entity => new TableTransactionAction(TableTransactionActionType.UpsertReplace, entity)),
                        "writing request counts", cancellationToken),
                    cancellationToken);
            }
        }
    }

    public IAsyncEnumerable<UsageRow> ReadAsync(DateTimeOffset from, DateTimeOffset to, CancellationToken cancellationToken) =>
        table.QueryAsync(
            $"PartitionKey ge '{Partition(from)}' and PartitionKey lt '{Partition(to)}'", Properties, "reading request counts",
            isOptional: true, cancellationToken).Select(Read);

    private static TableEntity ToEntity(string source, UsageRow row) => new(Partition(row.Hour), RowKey(source, row))
    {
        [nameof(UsageRow.Route)] = row.Route,
        [nameof(UsageRow.Status)] = row.Status,
        [nameof(UsageRow.Key)] = row.Key,
        [nameof(UsageRow.Requests)] = row.Requests,
        [nameof(UsageRow.Bytes)] = row.Bytes,
        [nameof(UsageRow.Microseconds)] = row.Microseconds,
        [nameof(UsageRow.LongestMicroseconds)] = row.LongestMicroseconds,
    };

    private static string Partition(DateTimeOffset hour) => hour.UtcDateTime.ToString(HourFormat, CultureInfo.InvariantCulture);

    private static string RowKey(string source, UsageRow row) => string.Create(
        CultureInfo.InvariantCulture,
        $"{source}|{row.Status}|{(row.Key.Length == 0 ? NoKey : row.Key)}|{KeySafe(row.Route)}");

    // Escapes each byte except letters, digits and -._~{}*: as "!XX". Row keys must not contain / \ # ? or control characters, and |
    // is the separator.
    private static string KeySafe(string text)
    {
        var safe = new StringBuilder(text.Length + 16);
        foreach (var b in Encoding.UTF8.GetBytes(text))
        {
            if (char.IsAsciiLetterOrDigit((char)b) || "-._~{}*:".Contains((char)b))
                safe.Append((char)b);
            else
                safe.Append(CultureInfo.InvariantCulture, $"!{b:X2}");
        }
        return safe.ToString();
    }

    private UsageRow Read(TableEntity entity)
    {
        if (DateTimeOffset.TryParseExact(
                entity.PartitionKey, HourFormat, CultureInfo.InvariantCulture,
                DateTimeStyles.AssumeUniversal | DateTimeStyles.AdjustToUniversal, out var hour)
            && entity[nameof(UsageRow.Route)] is string route && entity[nameof(UsageRow.Key)] is string key
            && entity[nameof(UsageRow.Status)] is int status
            && entity[nameof(UsageRow.Requests)] is long requests and >= 0 && entity[nameof(UsageRow.Bytes)] is long bytes and >= 0
            && entity[nameof(UsageRow.Microseconds)] is long total and >= 0
            && entity[nameof(UsageRow.LongestMicroseconds)] is long max and >= 0)
        {
            return new UsageRow(hour, route, status, key)
            {
                Requests = requests,
                Bytes = bytes,
                Microseconds = total,
                LongestMicroseconds = max,
            };
        }
        throw table.Unreadable("a row of");
    }
}
