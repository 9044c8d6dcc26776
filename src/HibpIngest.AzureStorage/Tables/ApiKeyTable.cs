using System.Globalization;
using System.Text.Json;
using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.AzureStorage.Tables;

/// <summary>Keys by their hash, in one partition: there are thousands, and they are asked for one by one.</summary>
internal sealed class ApiKeyTable(TableService tables, string table) : IApiKeys
{
    private const string Partition = "key";

    private const char Separator = ' ';

    public Task CreateAsync(CancellationToken cancellationToken) => tables.CreateTableAsync(table, cancellationToken);

    public async Task<ApiKey?> FindAsync(string hash, CancellationToken cancellationToken)
    {
        try
        {
            return await tables.GetAsync(table, Partition, hash, "look-up of an API key", cancellationToken) is { } entity
                ? Read(hash, entity) : null;
        }
        catch (StoreMissingException)
        {
            return null; // no key was ever made
        }
    }

    public Task<bool> AddAsync(ApiKey key, CancellationToken cancellationToken) => tables.InsertAsync(
        table, Partition, key.Hash, writer =>
        {
            writer.WriteString(nameof(ApiKey.Name), key.Name);
            writer.WriteNumber(nameof(ApiKey.Rpm), key.Rpm);
            writer.WriteNumber(nameof(ApiKey.Scopes), (int)key.Scopes);
            writer.WriteString(nameof(ApiKey.Domains), string.Join(Separator, key.Domains));
            if (key.Client is { } client)
                writer.WriteNumber(nameof(ApiKey.Client), client);
            // Text that no service takes for a time: those come back in forms of their own.
            writer.WriteString(nameof(ApiKey.CreatedAt), key.CreatedAt.UtcDateTime.ToString("u", CultureInfo.InvariantCulture));
        }, "recording of an API key", cancellationToken);

    public async Task<IReadOnlyList<ApiKey>> ListAsync(CancellationToken cancellationToken)
    {
        var keys = new List<ApiKey>();
        try
        {
            await foreach (var entity in tables.QueryAsync(
                table, $"PartitionKey eq '{Partition}'", null, "listing of API keys", cancellationToken))
                keys.Add(Read(entity.GetProperty("RowKey").GetString()!, entity));
        }
        catch (StoreMissingException)
        {
            // No key was ever made.
        }
        return [.. keys.OrderBy(key => key.Name, StringComparer.OrdinalIgnoreCase)];
    }

    public async Task<bool> RemoveAsync(string hash, CancellationToken cancellationToken) =>
        await tables.DeleteAsync(table, Partition, hash, "*", "revocation of an API key", cancellationToken);

    private ApiKey Read(string hash, JsonElement entity)
    {
        if (entity.TryGetProperty(nameof(ApiKey.Name), out var name) && name.ValueKind == JsonValueKind.String
            && entity.TryGetProperty(nameof(ApiKey.Rpm), out var rpm) && rpm.TryGetInt32(out var perMinute) && perMinute > 0
            && entity.TryGetProperty(nameof(ApiKey.Scopes), out var scopes) && scopes.TryGetInt32(out var flags)
            && entity.TryGetProperty(nameof(ApiKey.Domains), out var domains) && domains.ValueKind == JsonValueKind.String
            && entity.TryGetProperty(nameof(ApiKey.CreatedAt), out var created)
            && DateTimeOffset.TryParse(created.GetString(), CultureInfo.InvariantCulture, out var createdAt))
        {
            return new ApiKey
            {
                Hash = hash,
                Name = name.GetString()!,
                Rpm = perMinute,
                Scopes = (KeyScopes)flags,
                Domains = domains.GetString()!.Split(Separator, StringSplitOptions.RemoveEmptyEntries),
                Client = entity.TryGetProperty(nameof(ApiKey.Client), out var client) && client.TryGetInt32(out var number) ? number : null,
                CreatedAt = createdAt,
            };
        }
        throw new StoreMismatchException($"an API key in table {table} can't be read: the table was written by something else");
    }
}
