using System.Globalization;
using System.Text.Json;
using System.Text.Json.Serialization;
using HibpIngest.Stores;

namespace HibpIngest.AzureStorage.Tables;

internal sealed partial class StoreRegister
{
    private const string HostPartition = "host";
    private const string StartedAt = "StartedAt";
    private const string SeenAt = "SeenAt";
    private const string Recording = "recording of a host's heartbeat";

    public Task PutSignAsync(HostSign sign, CancellationToken cancellationToken) =>
        tables.PutAsync(table, HostPartition, sign.Host, writer => Write(writer, sign), Recording, cancellationToken);

    public void PutSign(HostSign sign, CancellationToken cancellationToken) =>
        tables.Put(table, HostPartition, sign.Host, writer => Write(writer, sign), Recording, cancellationToken);

    public async Task<IReadOnlyList<HostSign>> ListSignsAsync(CancellationToken cancellationToken)
    {
        var signs = new List<HostSign>();
        var (askedAt, began) = (time.GetUtcNow(), time.GetTimestamp());
        await foreach (
            var entity in tables.QueryAsync(table, $"PartitionKey eq '{HostPartition}'", null, "listing of hosts", cancellationToken))
        {
            // What a newer program writes otherwise is no host to this one.
            if (TimeOf(entity, StartedAt) is { } startedAt && TimeOf(entity, SeenAt) is { } seenAt
                && entity.TryGetProperty(nameof(HostSign.ProcessId), out var process) && process.TryGetInt32(out var number))
            {
                signs.Add(new HostSign(
                    entity.GetProperty("RowKey").GetString()!, TextOf(entity, nameof(HostSign.Machine)), number,
                    TextOf(entity, nameof(HostSign.Roles)), TextOf(entity, nameof(HostSign.Version)), startedAt, seenAt,
                    TroublesOf(TextOf(entity, nameof(HostSign.Troubles)))));
            }
        }
        var took = time.GetElapsedTime(began);
        return [.. signs.OrderBy(sign => sign.StartedAt).Select(sign => sign with { AskedAt = askedAt, AnsweredAfter = took })];
    }

    public Task RemoveSignAsync(string host, CancellationToken cancellationToken) =>
        tables.DeleteAsync(table, HostPartition, host, "*", "removal of a host's heartbeat", cancellationToken);

    private static void Write(Utf8JsonWriter writer, HostSign sign)
    {
        writer.WriteString(nameof(HostSign.Machine), sign.Machine);
        writer.WriteNumber(nameof(HostSign.ProcessId), sign.ProcessId);
        writer.WriteString(nameof(HostSign.Roles), sign.Roles);
        writer.WriteString(nameof(HostSign.Version), sign.Version);
        writer.WriteString(StartedAt, Text(sign.StartedAt));
        writer.WriteString(SeenAt, Text(sign.SeenAt));
        writer.WriteString(
            nameof(HostSign.Troubles), JsonSerializer.Serialize(sign.Troubles, TroublesJson.Default.IReadOnlyListHostTrouble));
    }

    /// <summary>Text that no service takes for a time: those come back in forms of their own.</summary>
    private static string Text(DateTimeOffset time) => time.ToString("u", CultureInfo.InvariantCulture);

    private static DateTimeOffset? TimeOf(JsonElement entity, string name) =>
        entity.TryGetProperty(name, out var text) && DateTimeOffset.TryParse(text.GetString(), CultureInfo.InvariantCulture, out var time)
            ? time : null;

    private static string TextOf(JsonElement entity, string name) =>
        entity.TryGetProperty(name, out var text) && text.ValueKind == JsonValueKind.String ? text.GetString()! : "";

    private static IReadOnlyList<HostTrouble> TroublesOf(string json)
    {
        try
        {
            return json.Length == 0 ? [] : JsonSerializer.Deserialize(json, TroublesJson.Default.IReadOnlyListHostTrouble) ?? [];
        }
        catch (JsonException)
        {
            return []; // of a newer program
        }
    }

    [JsonSerializable(typeof(IReadOnlyList<HostTrouble>))]
    private sealed partial class TroublesJson : JsonSerializerContext;
}
