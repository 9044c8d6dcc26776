using Azure.Data.Tables.Models;
using HibpIngest.Storage.Azure.Blobs;

namespace HibpIngest.Storage.Azure.Tables;

/// <summary>
/// A table, through Azure.Data.Tables. Replaces the library's exceptions, whose messages repeat the service's text and may hold keys. The
/// operation names the call in error messages, without a key or an address.
/// </summary>
internal sealed class StorageTable(TableService service, TableClient client)
{
    private const int NotFound = 404;

    private readonly byte[] _address = service.TableAddress(client.Name);

    public string Name => client.Name;

    /// <returns>False if the table exists.</returns>
    public Task<bool> CreateAsync(CancellationToken cancellationToken) => StorageCall.TryAsync(
        $"creation of table {Name}", () => client.CreateAsync(cancellationToken), e => e.ErrorCode == TableErrorCode.TableAlreadyExists,
        cancellationToken);

    /// <summary>Deletes the table if it exists. The service takes up to a minute to release the name.</summary>
    public Task DropAsync(CancellationToken cancellationToken) =>
        StorageCall.RunAsync($"deletion of table {Name}", () => client.DeleteAsync(cancellationToken), cancellationToken);

    /// <param name="isOptional">True if a table that doesn't exist counts as an empty one.</param>
    public async Task<TableEntity?> FindAsync(
        string partitionKey, string rowKey, string operation, CancellationToken cancellationToken, bool isOptional = false)
    {
        try
        {
            var found = await StorageCall.RunAsync(
                operation, () => client.GetEntityIfExistsAsync<TableEntity>(partitionKey, rowKey, null, cancellationToken),
                cancellationToken);
            ThrowIfNoTable(found.GetRawResponse(), operation);
            return found.HasValue ? found.Value : null;
        }
        catch (StoreMissingException) when (isOptional)
        {
            return null;
        }
    }

    /// <returns>False if an entity of that key exists.</returns>
    public Task<bool> AddAsync(TableEntity entity, string operation, CancellationToken cancellationToken) => StorageCall.TryAsync(
        operation, () => client.AddEntityAsync(entity, cancellationToken), e => e.ErrorCode == TableErrorCode.EntityAlreadyExists,
        cancellationToken);

    public Task PutAsync(TableEntity entity, string operation, CancellationToken cancellationToken) => StorageCall.RunAsync(
        operation, () => client.UpsertEntityAsync(entity, TableUpdateMode.Replace, cancellationToken), cancellationToken);

    public void Put(TableEntity entity, string operation, CancellationToken cancellationToken) => StorageCall.RunAsync(
        operation, () => Task.FromResult(client.UpsertEntity(entity, TableUpdateMode.Replace, cancellationToken)), cancellationToken)
        .GetAwaiter().GetResult();

    /// <returns>The new ETag; null if the entity doesn't exist or has another version.</returns>
    public async Task<ETag?> ReplaceAsync(TableEntity entity, ETag version, string operation, CancellationToken cancellationToken)
    {
        try
        {
            var response = await StorageCall.RunAsync(
                operation, () => client.UpdateEntityAsync(entity, version, TableUpdateMode.Replace, cancellationToken), cancellationToken);
            return response.Headers.ETag;
        }
        catch (EntityChangedException)
        {
            return null;
        }
    }

    /// <returns>False if the entity doesn't exist or has another version.</returns>
    public async Task<bool> DeleteAsync(
        string partitionKey, string rowKey, ETag version, string operation, CancellationToken cancellationToken)
    {
        try
        {
            var response = await StorageCall.RunAsync(
                operation, () => client.DeleteEntityAsync(partitionKey, rowKey, version, cancellationToken), cancellationToken);
            ThrowIfNoTable(response, operation);
            return response.Status != NotFound;
        }
        catch (EntityChangedException)
        {
            return false;
        }
    }

    /// <returns>The entities in key order.</returns>
    public IAsyncEnumerable<TableEntity> QueryAsync(
        string filter, IEnumerable<string>? select, string operation, bool isOptional = false,
        CancellationToken cancellationToken = default) =>
        client.QueryAsync<TableEntity>(filter, null, select, cancellationToken).EnumerateAsync(operation, isOptional, cancellationToken);

    /// <returns>A page, which may be empty and not the last; and the next one's continuation token, null after the last page.</returns>
    public Task<(IReadOnlyList<TableEntity> Entities, string? Next)> QueryPageAsync(
        string filter, string? token, string operation, CancellationToken cancellationToken) =>
        StorageCall.RunAsync<(IReadOnlyList<TableEntity>, string?)>(operation, async () =>
        {
            await foreach (var page in client.QueryAsync<TableEntity>(filter, null, null, cancellationToken).AsPages(token))
                return (page.Values, page.ContinuationToken);
            return ([], null);
        }, cancellationToken);

    /// <returns>Null if written; otherwise the service throttles, and the caller sends again after the pause.</returns>
    public Task<WriteRefusal?> MergeAsync(TableEntity entity, string operation, CancellationToken cancellationToken) =>
        service.WriteAsync(
            () => client.UpsertEntityAsync(entity, TableUpdateMode.Merge, cancellationToken), operation, cancellationToken);

    /// <returns>As <see cref="MergeAsync"/>.</returns>
    public Task<WriteRefusal?> SubmitAsync(
        IEnumerable<TableTransactionAction> transaction, string operation, CancellationToken cancellationToken) =>
        service.WriteAsync(() => client.SubmitTransactionAsync(transaction, cancellationToken), operation, cancellationToken);

    /// <param name="make">Receives the address of the table.</param>
    /// <returns>As <see cref="MergeAsync"/>.</returns>
    public async Task<WriteRefusal?> SubmitAsync(Func<byte[], TableTransaction> make, CancellationToken cancellationToken)
    {
        using var transaction = make(_address);
        return await service.SubmitAsync(transaction, cancellationToken);
    }

    /// <param name="what">Name of the unreadable part, with a preposition: "a row of".</param>
    public StoreMismatchException Unreadable(string what) =>
        new($"{what} table {Name} can't be read: it is damaged or was written by another program");

    /// <summary>The library returns a missing table as a missing entity.</summary>
    private static void ThrowIfNoTable(Response response, string operation)
    {
        if (response.Status == NotFound && ODataError.CodeOf(response) is var code and not ("ResourceNotFound" or "EntityNotFound"))
            throw StorageErrors.FromStatus(operation, response.Status, code);
    }
}
