namespace HibpIngest.Storage.Azure.Tables;

/// <summary>Clients by their number, in one partition: there are few.</summary>
internal sealed class CallbackClientTable(StorageTable table) : ICallbackClients
{
    private const string Partition = "client";

    public Task CreateAsync(CancellationToken cancellationToken) => table.CreateAsync(cancellationToken);

    public Task<bool> AddAsync(CallbackClient client, CancellationToken cancellationToken) =>
        table.AddAsync(ToEntity(client), "recording a client", cancellationToken);

    public async Task<IReadOnlyList<CallbackClient>> ListAsync(CancellationToken cancellationToken) =>
        await table.QueryAsync($"PartitionKey eq '{Partition}'", null, "listing the clients", isOptional: true, cancellationToken)
            .Select(Read).OrderBy(client => client.Name, StringComparer.OrdinalIgnoreCase).ToListAsync(cancellationToken);

    public async Task<bool> ChangeAsync(CallbackClient client, CancellationToken cancellationToken) =>
        await table.ReplaceAsync(ToEntity(client), new ETag(client.ETag), "changing a client", cancellationToken) is not null;

    public Task<bool> RemoveAsync(int number, CancellationToken cancellationToken) =>
        table.DeleteAsync(Partition, Row(number), ETag.All, "removing a client", cancellationToken);

    private static string Row(int number) => number.ToString("D10", CultureInfo.InvariantCulture);

    private static TableEntity ToEntity(CallbackClient client) => new(Partition, Row(client.Number))
    {
        [nameof(CallbackClient.Name)] = client.Name,
        [nameof(CallbackClient.Url)] = client.Url,
        [nameof(CallbackClient.IsSensitive)] = client.IsSensitive,
        [nameof(CallbackClient.Cap)] = client.Cap,
        [nameof(CallbackClient.IsPaused)] = client.IsPaused,
        [nameof(CallbackClient.SealedSecret)] = Convert.ToBase64String(client.SealedSecret),
        [nameof(CallbackClient.KeyHash)] = client.KeyHash,
        [nameof(CallbackClient.CreatedAt)] = TableText.Of(client.CreatedAt),
    };

    private CallbackClient Read(TableEntity entity)
    {
        if (int.TryParse(entity.RowKey, NumberStyles.None, CultureInfo.InvariantCulture, out var number)
            && entity[nameof(CallbackClient.Name)] is string name && entity[nameof(CallbackClient.Url)] is string url
            && entity[nameof(CallbackClient.IsSensitive)] is bool isSensitive && entity[nameof(CallbackClient.IsPaused)] is bool isPaused
            && entity[nameof(CallbackClient.Cap)] is int cap and > 0
            && TableText.BytesOf(entity, nameof(CallbackClient.SealedSecret)) is { } secret
            && entity[nameof(CallbackClient.KeyHash)] is string key
            && TableText.TimeOf(entity, nameof(CallbackClient.CreatedAt)) is { } createdAt)
        {
            return new CallbackClient
            {
                Number = number,
                Name = name,
                Url = url,
                IsSensitive = isSensitive,
                Cap = cap,
                IsPaused = isPaused,
                SealedSecret = secret,
                KeyHash = key,
                CreatedAt = createdAt,
                ETag = entity.ETag.ToString(),
            };
        }
        throw table.Unreadable("a client in");
    }
}
