using System.Text.Json.Serialization;

namespace HibpIngest.Storage.Azure.Tables;

internal sealed partial class StoreRegister
{
    private const string HostPartition = "host";
    private const string StartedAt = "StartedAt";
    private const string SeenAt = "SeenAt";

    public void PutHeartbeat(Heartbeat heartbeat, CancellationToken cancellationToken) =>
        table.Put(ToEntity(heartbeat), "recording of a host's heartbeat", cancellationToken);

    public async Task<IReadOnlyList<Heartbeat>> ListHeartbeatsAsync(CancellationToken cancellationToken)
    {
        var hosts = new List<Heartbeat>();
        var (askedAt, began) = (time.GetUtcNow(), time.GetTimestamp());
        await foreach (var entity in QueryAsync(HostPartition, "listing of hosts", cancellationToken))
        {
            // Rows that a newer program writes in another form are skipped.
            if (TableText.TimeOf(entity, StartedAt) is { } startedAt && TableText.TimeOf(entity, SeenAt) is { } seenAt
                && entity[nameof(Heartbeat.ProcessId)] is int process)
            {
                hosts.Add(new Heartbeat(
                    entity.RowKey, TextOf(entity, nameof(Heartbeat.Machine)), process, TextOf(entity, nameof(Heartbeat.Roles)),
                    TextOf(entity, nameof(Heartbeat.Version)), startedAt, seenAt, TroublesOf(TextOf(entity, nameof(Heartbeat.Troubles)))));
            }
        }
        var took = time.GetElapsedTime(began);
        return [.. hosts.OrderBy(host => host.StartedAt).Select(host => host with { RequestedAt = askedAt, ReadLatency = took })];
    }

    public Task RemoveHeartbeatAsync(string host, CancellationToken cancellationToken) =>
        table.DeleteAsync(HostPartition, host, ETag.All, "removal of a host's heartbeat", cancellationToken);

    private static TableEntity ToEntity(Heartbeat heartbeat) => new(HostPartition, heartbeat.Host)
    {
        [nameof(Heartbeat.Machine)] = heartbeat.Machine,
        [nameof(Heartbeat.ProcessId)] = heartbeat.ProcessId,
        [nameof(Heartbeat.Roles)] = heartbeat.Roles,
        [nameof(Heartbeat.Version)] = heartbeat.Version,
        [StartedAt] = TableText.Of(heartbeat.StartedAt),
        [SeenAt] = TableText.Of(heartbeat.SeenAt),
        [nameof(Heartbeat.Troubles)] = JsonSerializer.Serialize(heartbeat.Troubles, BlockedTasksJson.Default.IReadOnlyListBlockedTask),
    };

    private static string TextOf(TableEntity entity, string name) => entity[name] as string ?? "";

    private static IReadOnlyList<BlockedTask> TroublesOf(string json)
    {
        try
        {
            return json.Length == 0 ? [] : JsonSerializer.Deserialize(json, BlockedTasksJson.Default.IReadOnlyListBlockedTask) ?? [];
        }
        catch (JsonException)
        {
            return []; // written by a newer program
        }
    }

    [JsonSerializable(typeof(IReadOnlyList<BlockedTask>))]
    private sealed partial class BlockedTasksJson : JsonSerializerContext;
}
