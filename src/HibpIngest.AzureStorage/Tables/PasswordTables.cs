using System.Globalization;
using System.Text;
using System.Text.Json;
using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.AzureStorage.Tables;

internal sealed class PasswordTables(TableService tables, WriteThrottle throttle) : IPasswordTables
{
    // Without the prefix: it is what somebody asked for.
    private const string Reading = "reading of a range of passwords";

    public Task<bool> CreateAsync(string table, CancellationToken cancellationToken) => tables.CreateTableAsync(table, cancellationToken);

    public async Task<IReadOnlyList<PasswordRow>> ReadAsync(string table, string prefix, CancellationToken cancellationToken)
    {
        var rows = new List<PasswordRow>();
        try
        {
            await foreach (var page in tables.QueryBytesAsync(
                table, $"PartitionKey eq '{prefix}'", "RowKey,count", Reading, cancellationToken))
                Read(page.Span, rows);
        }
        catch (StoreMissingException)
        {
            // Then no row of it is there.
        }
        catch (JsonException)
        {
            throw TableAnswer.Malformed(Reading);
        }
        return rows;
    }

    public async Task WriteAsync(
        string table, string prefix, IReadOnlyList<PasswordRow> rows, CancellationToken cancellationToken)
    {
        var (address, partition) = (tables.TableAddress(table), Encoding.ASCII.GetBytes(prefix));
        foreach (var some in rows.Chunk(IAccountTable.MaxTransactionEntities))
        {
            await throttle.SendPatientlyAsync(table, partition, some.Length, async () =>
            {
                using var transaction = TableTransaction.Passwords(address, partition, some);
                return await tables.SubmitAsync(transaction, cancellationToken);
            }, cancellationToken);
        }
    }

    public Task DropAsync(string table, CancellationToken cancellationToken) => tables.DropTableAsync(table, cancellationToken);

    private static void Read(ReadOnlySpan<byte> page, List<PasswordRow> rows)
    {
        var reader = new Utf8JsonReader(page);
        while (reader.Read())
        {
            // Of the page's own object there is nothing to be read but the entities, which lie one deeper.
            if (reader.TokenType != JsonTokenType.StartObject || reader.CurrentDepth != 2)
                continue;
            var (suffix, count) = ((string?)null, -1L);
            while (reader.Read() && reader.TokenType == JsonTokenType.PropertyName)
            {
                var (isKey, isCount) = (reader.ValueTextEquals("RowKey"u8), reader.ValueTextEquals("count"u8));
                reader.Read();
                if (isKey)
                    suffix = reader.GetString();
                else if (isCount)
                    count = ReadCount(ref reader);
                else
                    reader.Skip();
            }
            rows.Add(new PasswordRow(suffix ?? throw new JsonException(), count >= 0 ? count : throw new JsonException()));
        }
    }

    /// <summary>Of 64 bits as text, as the service gives it, and of 32 as a number, as other programs may have written it.</summary>
    private static long ReadCount(ref Utf8JsonReader reader) =>
        reader.TokenType == JsonTokenType.Number ? reader.GetInt64()
        : long.TryParse(reader.GetString(), NumberStyles.None, CultureInfo.InvariantCulture, out var count) ? count
        : throw new JsonException();
}
