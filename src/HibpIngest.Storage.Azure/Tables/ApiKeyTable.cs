namespace HibpIngest.Storage.Azure.Tables;

/// <summary>API keys by their hash, in one partition: there are thousands, and each is looked up by itself.</summary>
internal sealed class ApiKeyTable(StorageTable table) : IApiKeys
{
    private const string Partition = "key";

    private const char Separator = ' ';

    public Task CreateAsync(CancellationToken cancellationToken) => table.CreateAsync(cancellationToken);

    public async Task<ApiKey?> FindAsync(string hash, CancellationToken cancellationToken) =>
        await table.FindAsync(Partition, hash, "looking up an API key", cancellationToken, isOptional: true) is { } entity
            ? Read(entity) : null;

    public async Task<bool> SetDomainAsync(string hash, string domain, bool isProven, CancellationToken cancellationToken)
    {
        const string Operation = "changing an API key's domains";
        while (await table.FindAsync(Partition, hash, Operation, cancellationToken) is { } entity)
        {
            var key = Read(entity);
            var domains = key.Domains.Where(one => one != domain).Concat(isProven ? [domain] : []).Order(StringComparer.Ordinal).ToList();
            if (domains.SequenceEqual(key.Domains))
                return true;
            var changed = ToEntity(key with { Domains = domains, Scopes = key.Scopes | (isProven ? KeyScopes.Domains : KeyScopes.None) });
            if (await table.ReplaceAsync(changed, entity.ETag, Operation, cancellationToken) is not null)
                return true;
        }
        return false;
    }

    public Task<bool> AddAsync(ApiKey key, CancellationToken cancellationToken) =>
        table.AddAsync(ToEntity(key), "recording an API key", cancellationToken);

    private static TableEntity ToEntity(ApiKey key)
    {
        var entity = new TableEntity(Partition, key.Hash)
        {
            [nameof(ApiKey.Name)] = key.Name,
            [nameof(ApiKey.Rpm)] = key.Rpm,
            [nameof(ApiKey.Scopes)] = (int)key.Scopes,
            [nameof(ApiKey.Domains)] = string.Join(Separator, key.Domains),
            [nameof(ApiKey.CreatedAt)] = TableText.Of(key.CreatedAt),
        };
        if (key.Client is { } client)
            entity[nameof(ApiKey.Client)] = client;
        return entity;
    }

    public async Task<IReadOnlyList<ApiKey>> ListAsync(CancellationToken cancellationToken) =>
        await table.QueryAsync($"PartitionKey eq '{Partition}'", null, "listing API keys", isOptional: true, cancellationToken)
            .Select(Read).OrderBy(key => key.Name, StringComparer.OrdinalIgnoreCase).ToListAsync(cancellationToken);

    public Task<bool> RemoveAsync(string hash, CancellationToken cancellationToken) =>
        table.DeleteAsync(Partition, hash, ETag.All, "revocation of an API key", cancellationToken);

    private ApiKey Read(TableEntity entity)
    {
        if (entity[nameof(ApiKey.Name)] is string name && entity[nameof(ApiKey.Rpm)] is int perMinute and > 0
            && entity[nameof(ApiKey.Scopes)] is int scopes && entity[nameof(ApiKey.Domains)] is string domains
            && TableText.TimeOf(entity, nameof(ApiKey.CreatedAt)) is { } createdAt)
        {
            return new ApiKey
            {
                Hash = entity.RowKey,
                Name = name,
                Rpm = perMinute,
                Scopes = (KeyScopes)scopes,
                Domains = domains.Split(Separator, StringSplitOptions.RemoveEmptyEntries),
                Client = entity[nameof(ApiKey.Client)] as int?,
                CreatedAt = createdAt,
            };
        }
        throw table.Unreadable("an API key in");
    }
}
