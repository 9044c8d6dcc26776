using System.Text.Json;
using System.Text.Json.Serialization;
using Azure.Data.Tables;

namespace HibpIngest.Storage.Azure.Tables;

internal sealed partial class StoreRegister
{
    private const string HostPartition = "host";
    private const string StartedAt = "StartedAt";
    private const string SeenAt = "SeenAt";
    private const string Recording = "recording of a host's heartbeat";

    public Task PutSignAsync(HostSign sign, CancellationToken cancellationToken) =>
        table.PutAsync(ToEntity(sign), Recording, cancellationToken);

    public void PutSign(HostSign sign, CancellationToken cancellationToken) => table.Put(ToEntity(sign), Recording, cancellationToken);

    public async Task<IReadOnlyList<HostSign>> ListSignsAsync(CancellationToken cancellationToken)
    {
        var signs = new List<HostSign>();
        var (askedAt, began) = (time.GetUtcNow(), time.GetTimestamp());
        await foreach (var entity in QueryAsync(HostPartition, "listing of hosts", cancellationToken))
        {
            // Rows that a newer program writes in another form are skipped.
            if (TableText.TimeOf(entity, StartedAt) is { } startedAt && TableText.TimeOf(entity, SeenAt) is { } seenAt
                && entity[nameof(HostSign.ProcessId)] is int process)
            {
                signs.Add(new HostSign(
                    entity.RowKey, TextOf(entity, nameof(HostSign.Machine)), process, TextOf(entity, nameof(HostSign.Roles)),
                    TextOf(entity, nameof(HostSign.Version)), startedAt, seenAt, TroublesOf(TextOf(entity, nameof(HostSign.Troubles)))));
            }
        }
        var took = time.GetElapsedTime(began);
        return [.. signs.OrderBy(sign => sign.StartedAt).Select(sign => sign with { AskedAt = askedAt, AnsweredAfter = took })];
    }

    public Task RemoveSignAsync(string host, CancellationToken cancellationToken) =>
        table.DeleteAsync(HostPartition, host, ETag.All, "removal of a host's heartbeat", cancellationToken);

    private static TableEntity ToEntity(HostSign sign) => new(HostPartition, sign.Host)
    {
        [nameof(HostSign.Machine)] = sign.Machine,
        [nameof(HostSign.ProcessId)] = sign.ProcessId,
        [nameof(HostSign.Roles)] = sign.Roles,
        [nameof(HostSign.Version)] = sign.Version,
        [StartedAt] = TableText.Of(sign.StartedAt),
        [SeenAt] = TableText.Of(sign.SeenAt),
        [nameof(HostSign.Troubles)] = JsonSerializer.Serialize(sign.Troubles, TroublesJson.Default.IReadOnlyListHostTrouble),
    };

    private static string TextOf(TableEntity entity, string name) => entity[name] as string ?? "";

    private static IReadOnlyList<HostTrouble> TroublesOf(string json)
    {
        try
        {
            return json.Length == 0 ? [] : JsonSerializer.Deserialize(json, TroublesJson.Default.IReadOnlyListHostTrouble) ?? [];
        }
        catch (JsonException)
        {
            return []; // written by a newer program
        }
    }

    [JsonSerializable(typeof(IReadOnlyList<HostTrouble>))]
    private sealed partial class TroublesJson : JsonSerializerContext;
}
