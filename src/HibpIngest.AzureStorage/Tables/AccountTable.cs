using System.Runtime.CompilerServices;
using System.Text.Json;
using HibpIngest.Stores;
using Microsoft.Extensions.Logging;

namespace HibpIngest.AzureStorage.Tables;

internal sealed partial class AccountTable(TableService tables, WriteThrottle throttle, string table, ILogger<AccountTable> logger)
    : MarkTable(tables, throttle, table, partStarts: "0123456789abcdefghijklmnopqrstuvwxyz", logger), IAccountTable, IAccountPages
{
    /// <summary>
    /// 15 comparisons are allowed (learn.microsoft.com/rest/api/storageservices/querying-tables-and-entities),
    /// one of them the partition's.
    /// </summary>
    private const int MaxFiltered = 14;

    public async IAsyncEnumerable<string> ListAliasesAsync(
        string partition, IReadOnlyCollection<int> marks, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        if (marks.Count == 0)
            yield break;
        var wanted = marks.Select(Property).ToArray();
        var filter = $"PartitionKey eq '{Quoted(partition)}'";
        // Past that many comparisons the service refuses a filter; then all of the domain is read.
        var filtered = wanted.Length <= MaxFiltered;
        if (filtered)
            filter += $" and ({string.Join(" or ", wanted.Select(property => $"{property} eq true"))})";
        string? last = null;
        await foreach (var entity in Tables.QueryAsync(
            Table, filter, $"RowKey,{string.Join(',', wanted)}", "listing of a domain's accounts", cancellationToken))
        {
            // The rows of an account lie side by side: '!' sorts below every character of an alias.
            var (alias, _) = SplitRowKey(entity.GetProperty("RowKey").GetString()!);
            if (alias == last || !filtered && !Array.Exists(
                wanted, property => entity.TryGetProperty(property, out var value) && value.ValueKind == JsonValueKind.True))
                continue;
            yield return last = alias;
        }
    }

    public async Task<AccountPage> ReadPageAsync(int part, string? token, CancellationToken cancellationToken)
    {
        var (entities, next) = await QueryPageAsync(PartFilter(part), token, "reading of the account table", cancellationToken);
        var rows = new List<(string, MarkedRow)>(entities.Count);
        foreach (var entity in entities)
        {
            var (alias, row) = SplitRowKey(entity.GetProperty("RowKey").GetString()!);
            int[] marks = [.. MarksOf(entity)];
            if (marks.Length > 0)
                rows.Add((entity.GetProperty("PartitionKey").GetString()!, new MarkedRow(alias, row, marks)));
        }
        return new AccountPage(rows, next);
    }
}
