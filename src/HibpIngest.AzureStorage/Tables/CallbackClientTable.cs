using System.Globalization;
using System.Text.Json;
using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.AzureStorage.Tables;

/// <summary>Clients by their number, in one partition: there are few.</summary>
internal sealed class CallbackClientTable(TableService tables, string table) : ICallbackClients
{
    private const string Partition = "client";

    public Task CreateAsync(CancellationToken cancellationToken) => tables.CreateTableAsync(table, cancellationToken);

    public Task<bool> AddAsync(CallbackClient client, CancellationToken cancellationToken) => tables.InsertAsync(
        table, Partition, Row(client.Number), writer => Write(writer, client), "recording of a client", cancellationToken);

    public async Task<IReadOnlyList<CallbackClient>> ListAsync(CancellationToken cancellationToken)
    {
        var clients = new List<CallbackClient>();
        try
        {
            await foreach (var entity in tables.QueryAsync(
                table, $"PartitionKey eq '{Partition}'", null, "listing of the clients", cancellationToken))
                clients.Add(Read(entity));
        }
        catch (StoreMissingException)
        {
            // No client was ever added.
        }
        return [.. clients.OrderBy(client => client.Name, StringComparer.OrdinalIgnoreCase)];
    }

    public Task<bool> ChangeAsync(CallbackClient client, CancellationToken cancellationToken) => tables.ReplaceAsync(
        table, Partition, Row(client.Number), client.ETag, writer => Write(writer, client), "change of a client", cancellationToken);

    public Task<bool> RemoveAsync(int number, CancellationToken cancellationToken) =>
        tables.DeleteAsync(table, Partition, Row(number), "*", "removal of a client", cancellationToken);

    private static string Row(int number) => number.ToString("D10", CultureInfo.InvariantCulture);

    private static void Write(Utf8JsonWriter writer, CallbackClient client)
    {
        writer.WriteString(nameof(CallbackClient.Name), client.Name);
        writer.WriteString(nameof(CallbackClient.Url), client.Url);
        writer.WriteBoolean(nameof(CallbackClient.IsSensitive), client.IsSensitive);
        writer.WriteNumber(nameof(CallbackClient.Cap), client.Cap);
        writer.WriteBoolean(nameof(CallbackClient.IsPaused), client.IsPaused);
        writer.WriteString(nameof(CallbackClient.SealedSecret), Convert.ToBase64String(client.SealedSecret));
        writer.WriteString(nameof(CallbackClient.KeyHash), client.KeyHash);
        // Text that no service takes for a time: those come back in forms of their own.
        writer.WriteString(nameof(CallbackClient.CreatedAt), client.CreatedAt.UtcDateTime.ToString("u", CultureInfo.InvariantCulture));
    }

    private CallbackClient Read(JsonElement entity)
    {
        if (Text("RowKey") is { } row && int.TryParse(row, NumberStyles.None, CultureInfo.InvariantCulture, out var number)
            && Text(nameof(CallbackClient.Name)) is { } name && Text(nameof(CallbackClient.Url)) is { } url
            && Flag(nameof(CallbackClient.IsSensitive)) is { } isSensitive && Flag(nameof(CallbackClient.IsPaused)) is { } isPaused
            && entity.TryGetProperty(nameof(CallbackClient.Cap), out var most) && most.TryGetInt32(out var cap) && cap > 0
            && entity.TryGetProperty(nameof(CallbackClient.SealedSecret), out var secret) && secret.TryGetBytesFromBase64(out var bytes)
            && Text(nameof(CallbackClient.KeyHash)) is { } key
            && DateTimeOffset.TryParse(Text(nameof(CallbackClient.CreatedAt)), CultureInfo.InvariantCulture, out var createdAt)
            && Text("odata.etag") is { } etag)
        {
            return new CallbackClient
            {
                Number = number,
                Name = name,
                Url = url,
                IsSensitive = isSensitive,
                Cap = cap,
                IsPaused = isPaused,
                SealedSecret = bytes,
                KeyHash = key,
                CreatedAt = createdAt,
                ETag = etag,
            };
        }
        throw new StoreMismatchException($"a client in table {table} can't be read: the table was written by something else");

        string? Text(string name) =>
            entity.TryGetProperty(name, out var value) && value.ValueKind == JsonValueKind.String ? value.GetString() : null;

        bool? Flag(string name) =>
            entity.TryGetProperty(name, out var value) && value.ValueKind is JsonValueKind.True or JsonValueKind.False
            ? value.GetBoolean() : null;
    }
}
