using System.Text;
using System.Text.Json;
using HibpIngest.Errors;
using HibpIngest.Stores;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.AzureStorage.Tables;

internal abstract partial class MarkTable
{
    private const string RemovalOperation = "removal of a mark from accounts";

    /// <summary>Requests in flight for one call: who calls has several calls in flight as well.</summary>
    private const int RemovalsInFlight = 8;

    /// <summary>
    /// From so many rows of a partition on a page of all that lies between them is asked for first. The hashes of 20,000 accounts are
    /// 78 in each of 256 partitions: read one by one they were two thirds of all requests of a removal, which waits for nothing else.
    /// </summary>
    private const int LeastForRange = 32;

    /// <summary>
    /// Where fewer than one in so many of what such a page holds are asked for, the others are read one by one:
    /// of gmail.com a load has a small part.
    /// </summary>
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
        var partitions = entities.GroupBy(entity => entity.GetProperty("PartitionKey").GetString());
        var changed = 0;
        await Parallel.ForEachAsync(partitions, InFlight(cancellationToken), async (partition, stop) =>
            Interlocked.Add(ref changed, await RemoveAsync([.. partition], property, stop)));
        if (next is null)
            LogPartWalked(mark, part + 1, partStarts.Length, table);
        return new MarkPage(changed, next);
    }

    /// <summary>Those of these entities (row keys, ascending) that there are.</summary>
    private async Task<IReadOnlyList<JsonElement>> ReadAsync(string partition, string[] keys, CancellationToken cancellationToken)
    {
        var found = new List<JsonElement>(keys.Length);
        var next = 0;
        while (keys.Length - next >= LeastForRange)
        {
            var first = next;
            var filter = $"PartitionKey eq '{Quoted(partition)}' and RowKey ge '{Quoted(keys[next])}' and RowKey le '{Quoted(keys[^1])}'";
            var (page, more) = await tables.QueryPageAsync(table, filter, null, RemovalOperation, cancellationToken);
            foreach (var entity in page)
            {
                var key = entity.GetProperty("RowKey").GetString();
                while (next < keys.Length && string.CompareOrdinal(keys[next], key) < 0)
                    next++; // there is none
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

    /// <summary>Takes the property off entities of one partition, in transactions.</summary>
    private async Task<int> RemoveAsync(IReadOnlyList<JsonElement> entities, string property, CancellationToken cancellationToken)
    {
        var changed = 0;
        var due = entities.Select(entity => new MarkRemoval(entity, property)).Where(removal => removal.IsDue);
        foreach (var removals in due.Chunk(IAccountTable.MaxTransactionEntities))
        {
            if (removals.Length > 1 && await TryRemoveAsync(removals, cancellationToken))
            {
                changed += removals.Length;
                continue;
            }

            foreach (var removal in removals)
                changed += await RemoveAsync(removal, property, cancellationToken) ? 1 : 0;
        }

        return changed;
    }

    /// <summary>
    /// All of them in one transaction, in its turn where the service is busy, however long that takes. False
    /// where one was changed meanwhile, or where this had been done and its answer was lost.
    /// </summary>
    private async Task<bool> TryRemoveAsync(MarkRemoval[] removals, CancellationToken cancellationToken)
    {
        try
        {
            await SendPatientlyAsync(
                Encoding.ASCII.GetBytes(removals[0].Domain), removals.Length, address => TableTransaction.Remove(address, removals),
                cancellationToken);
            return true;
        }
        catch (EntityChangedException)
        {
            return false;
        }
    }

    /// <summary>One entity; a lost race is read again. False: the mark was off by then.</summary>
    private async Task<bool> RemoveAsync(MarkRemoval removal, string property, CancellationToken cancellationToken)
    {
        var (domain, key) = (removal.Domain, removal.RowKey);
        while (true)
        {
            var (etag, rest) = (removal.ETag, (Action<Utf8JsonWriter>)removal.WriteRest);
            var done = await (removal.Empties
                ? throttle.InTurnAsync(
                    () => tables.DeleteAsync(table, domain, key, etag, RemovalOperation, cancellationToken), cancellationToken)
                : throttle.InTurnAsync(
                    () => tables.ReplaceAsync(table, domain, key, etag, rest, RemovalOperation, cancellationToken), cancellationToken));
            if (done)
                return true;
            if (await GetAsync(domain, key, cancellationToken) is not { } now)
                return false;
            removal = new MarkRemoval(now, property);
            if (!removal.IsDue)
                return false;
        }
    }

    /// <summary>
    /// In the account's turn, as what is written; pages of a query are not: there are few, and what they take says nothing of how busy
    /// the service is.
    /// </summary>
    private Task<JsonElement?> GetAsync(string partition, string key, CancellationToken cancellationToken) => throttle.InTurnAsync(
        () => tables.GetAsync(table, partition, key, RemovalOperation, cancellationToken), cancellationToken);

    private static ParallelOptions InFlight(CancellationToken cancellationToken) =>
        new() { MaxDegreeOfParallelism = RemovalsInFlight, CancellationToken = cancellationToken };

    protected static string Quoted(string key) => key.Replace("'", "''", StringComparison.Ordinal);

    [LoggerMessage(EventIds.AccountTablePartWalked, LogLevel.Information, "Took mark {Mark} off part {Part} of {Parts} of table {Table}")]
    private partial void LogPartWalked(int mark, int part, int parts, string table);
}
