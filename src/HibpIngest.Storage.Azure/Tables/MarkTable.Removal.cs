using Microsoft.Extensions.Logging;

namespace HibpIngest.Storage.Azure.Tables;

internal abstract partial class MarkTable
{
    private const string RemovalOperation = "removal of a mark from accounts";

    /// <summary>Requests in flight per call; the caller runs several calls at once.</summary>
    private const int RemovalsInFlight = 8;

    // Minimum number of rows for which a page of the range that spans them is read first. The hashes of 20,000 accounts are 78 in each of
    // 256 partitions: reading them one by one was two thirds of all requests of a removal, and it waits for nothing else.
    private const int MinForRange = 32;

    /// <summary>If less than 1/10 of a page's rows is wanted, the rest are read one by one: a load has a small part of gmail.com.</summary>
    private const int SparseAt = 10;

    public async Task<int> RemoveMarkAsync(
        string partition, IReadOnlyCollection<string> rows, int mark, CancellationToken cancellationToken)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(mark, 1);
        var row = RowOf(mark);
        string[] keys = [.. rows.Distinct().Select(key => RowKey(key, row)).Order(StringComparer.Ordinal)];
        return await RemoveAsync(await ReadAsync(partition, keys, cancellationToken), Property(mark), cancellationToken);
    }

    public async Task<MarkPage> RemoveMarkAsync(int mark, int part, string? token, CancellationToken cancellationToken)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(mark, 1);
        var property = Property(mark);
        var (entities, next) = await QueryPageAsync(
            $"{PartFilter(part)} and {property} eq true", token, RemovalOperation, cancellationToken);
        var partitions = entities.GroupBy(entity => entity.PartitionKey);
        var changed = 0;
        await Parallel.ForEachAsync(partitions, InFlight(cancellationToken), async (partition, stop) =>
            Interlocked.Add(ref changed, await RemoveAsync([.. partition], property, stop)));
        if (next is null)
            LogPartScanned(mark, part + 1, partStarts.Length, table.Name);
        return new MarkPage(changed, next);
    }

    /// <param name="keys">Row keys, ascending.</param>
    private async Task<IReadOnlyList<TableEntity>> ReadAsync(string partition, string[] keys, CancellationToken cancellationToken)
    {
        var found = new List<TableEntity>(keys.Length);
        var next = 0;
        while (keys.Length - next >= MinForRange)
        {
            var first = next;
            var filter = TableClient.CreateQueryFilter(
                $"PartitionKey eq {partition} and RowKey ge {keys[next]} and RowKey le {keys[^1]}");
            var (page, more) = await table.QueryPageAsync(filter, null, RemovalOperation, cancellationToken);
            foreach (var entity in page)
            {
                var key = entity.RowKey;
                while (next < keys.Length && string.CompareOrdinal(keys[next], key) < 0)
                    next++; // doesn't exist
                if (next < keys.Length && keys[next] == key)
                {
                    found.Add(entity);
                    next++;
                }
            }
            if (more is null)
                return found;
            if (next - first <= page.Count / SparseAt)
                break;
        }
        await Parallel.ForEachAsync(keys[next..], InFlight(cancellationToken), async (key, stop) =>
        {
            if (await GetAsync(partition, key, stop) is not { } entity)
                return;
            lock (found)
                found.Add(entity);
        });
        return found;
    }

    private async Task<int> RemoveAsync(IReadOnlyList<TableEntity> entities, string property, CancellationToken cancellationToken)
    {
        var changed = 0;
        foreach (var chunk in entities.Where(entity => entity.Remove(property)).Chunk(IAccountTable.MaxTransactionEntities))
        {
            if (chunk.Length > 1 && await TryWriteAsync(chunk, cancellationToken))
            {
                changed += chunk.Length;
                continue;
            }
            foreach (var entity in chunk)
                changed += await RemoveAsync(entity, property, cancellationToken) ? 1 : 0;
        }
        return changed;
    }

    /// <returns>False if an entity was changed meanwhile, or if this was done before and the response was lost.</returns>
    private async Task<bool> TryWriteAsync(TableEntity[] entities, CancellationToken cancellationToken)
    {
        try
        {
            await throttle.SendWithoutTimeoutAsync(
                table.Name, Encoding.ASCII.GetBytes(entities[0].PartitionKey), entities.Length,
                () => table.SubmitAsync(
                    entities.Select(entity => new TableTransactionAction(
                        IsEmpty(entity) ? TableTransactionActionType.Delete : TableTransactionActionType.UpdateReplace, entity,
                        entity.ETag)),
                    RemovalOperation, cancellationToken),
                cancellationToken);
            return true;
        }
        catch (EntityChangedException)
        {
            return false;
        }
    }

    /// <returns>False if another writer has removed the property.</returns>
    private async Task<bool> RemoveAsync(TableEntity entity, string property, CancellationToken cancellationToken)
    {
        while (true)
        {
            var read = entity;
            var done = await throttle.InTurnAsync(
                async () => IsEmpty(read)
                    ? await table.DeleteAsync(read.PartitionKey, read.RowKey, read.ETag, RemovalOperation, cancellationToken)
                    : await table.ReplaceAsync(read, read.ETag, RemovalOperation, cancellationToken) is not null,
                cancellationToken);
            if (done)
                return true;
            if (await GetAsync(read.PartitionKey, read.RowKey, cancellationToken) is not { } now || !now.Remove(property))
                return false;
            entity = now;
        }
    }

    private static bool IsEmpty(TableEntity entity) =>
        entity.Keys.All(name => name is "PartitionKey" or "RowKey" or "Timestamp" or "odata.etag");

    // Waits the account's turn, as writes do. Queries don't: they are few, and their latency doesn't show the service's load.
    private Task<TableEntity?> GetAsync(string partition, string key, CancellationToken cancellationToken) => throttle.InTurnAsync(
        () => table.FindAsync(partition, key, RemovalOperation, cancellationToken), cancellationToken);

    private static ParallelOptions InFlight(CancellationToken cancellationToken) =>
        new() { MaxDegreeOfParallelism = RemovalsInFlight, CancellationToken = cancellationToken };

    [LoggerMessage(
        EventIds.AccountTablePartScanned, LogLevel.Information, "mark {Mark}: removed from part {Part} of {Parts} of table {Table}")]
    private partial void LogPartScanned(int mark, int part, int parts, string table);
}
