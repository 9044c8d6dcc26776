namespace HibpIngest.Storage.Azure.Tables;

/// <summary>One row per link, whose key is the hash of what the link holds.</summary>
internal sealed class SignInTable(StorageTable table) : ISignIns
{
    private const string Partition = "signin";

    public Task CreateAsync(CancellationToken cancellationToken) => table.CreateAsync(cancellationToken);

    public Task AddAsync(SignIn signIn, CancellationToken cancellationToken) => table.AddAsync(
        new TableEntity(Partition, signIn.Hash)
        {
            [nameof(SignIn.Domain)] = signIn.Domain,
            [nameof(SignIn.ExpiresAt)] = TableText.Of(signIn.ExpiresAt),
        },
        "recording of a link to sign in", cancellationToken);

    public async Task<SignIn?> TakeAsync(string secret, CancellationToken cancellationToken)
    {
        if (await table.FindAsync(
            Partition, SignIn.HashOf(secret), "look-up of a link to sign in", cancellationToken, isOptional: true) is not { } entity
            || !await DeleteAsync(entity, cancellationToken))
        {
            return null;
        }
        return new SignIn(
            entity.RowKey, entity.GetString(nameof(SignIn.Domain)), TableText.TimeOf(entity, nameof(SignIn.ExpiresAt)) ?? default);
    }

    public async Task DeleteExpiredAsync(DateTimeOffset now, CancellationToken cancellationToken)
    {
        var rows = table.QueryAsync(
            $"PartitionKey eq '{Partition}'", null, "listing of links to sign in", isOptional: true, cancellationToken);
        await foreach (var row in rows)
        {
            if (TableText.TimeOf(row, nameof(SignIn.ExpiresAt)) is not { } expires || expires <= now)
                await DeleteAsync(row, cancellationToken);
        }
    }

    private Task<bool> DeleteAsync(TableEntity entity, CancellationToken cancellationToken) => table.DeleteAsync(
        entity.PartitionKey, entity.RowKey, entity.ETag, "deletion of a link to sign in", cancellationToken);
}
