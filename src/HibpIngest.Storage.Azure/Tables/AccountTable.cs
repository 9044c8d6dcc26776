using Microsoft.Extensions.Logging;

namespace HibpIngest.Storage.Azure.Tables;

internal sealed class AccountTable(
    StorageTable table, PointReads reads, WriteThrottle throttle, ILogger<AccountTable> logger)
    : MarkTable(table, throttle, partStarts: "0123456789abcdefghijklmnopqrstuvwxyz", logger), IAccountTable, IAccountReads
{
    // A filter may have 15 comparisons, one for the partition and one for opt-outs
    // (learn.microsoft.com/rest/api/storageservices/querying-tables-and-entities).
    private const int MaxFiltered = 13;

    private static readonly string HiddenFromAll = $"{OptOut.Property} eq '{OptOut.ValueOf(OptOutLevel.All)}'";

    public async IAsyncEnumerable<string> ListAliasesAsync(
        string partition, IReadOnlyCollection<int> marks, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        if (marks.Count == 0)
            yield break;
        var wanted = marks.Select(Property).ToArray();
        var filter = TableClient.CreateQueryFilter($"PartitionKey eq {partition}");
        var filtered = wanted.Length <= MaxFiltered;
        if (filtered)
            filter += $" and ({string.Join(" or ", wanted.Select(property => $"{property} eq true"))} or {HiddenFromAll})";
        string? last = null;
        await foreach (var entity in Table.QueryAsync(
            filter, ["RowKey", OptOut.Property, .. wanted], "listing a domain's accounts", cancellationToken: cancellationToken))
        {
            // The rows of an account are adjacent, and the first has the opt-out: '!' sorts below every character of an alias.
            var (alias, _) = SplitRowKey(entity.RowKey);
            if (alias == last)
                continue;
            if (OptOut.Hides(MarksOf(entity), fromOwner: true))
                last = alias;
            else if (Array.Exists(wanted, property => entity[property] is true))
                yield return last = alias;
        }
    }

    public async Task<AccountPage> ReadPageAsync(int part, string? token, CancellationToken cancellationToken)
    {
        var (entities, next) = await QueryPageAsync(PartFilter(part), token, "reading the account table", cancellationToken);
        var rows = new List<(string, MarkedRow)>(entities.Count);
        foreach (var entity in entities)
        {
            var (alias, row) = SplitRowKey(entity.RowKey);
            int[] marks = [.. MarksOf(entity).Where(mark => mark > 0)];
            if (marks.Length > 0)
                rows.Add((entity.PartitionKey, new MarkedRow(alias, row, marks)));
        }
        return new AccountPage(rows, next);
    }

    public Task<IReadOnlyList<int>> GetMarksAsync(Account account, int highestMark, CancellationToken cancellationToken) =>
        highestMark <= IAccountTable.MarksPerRow ? ReadRowAsync(account.Domain, account.Alias, cancellationToken)
        : ReadRowsAsync(account, RowOf(highestMark) + 1, cancellationToken);

    public IAsyncEnumerable<AccountEntry> ReadDomainAsync(string domain, CancellationToken cancellationToken) => ReadKeysAsync(
        TableClient.CreateQueryFilter($"PartitionKey eq {domain}"), null, "reading a domain's accounts", cancellationToken)
        .Select(row => new AccountEntry(row.Key, row.Marks));

    public async Task<bool> HasMoreAccountsAsync(string domain, int than, CancellationToken cancellationToken) =>
        await ReadKeysAsync(
            TableClient.CreateQueryFilter($"PartitionKey eq {domain}"), ["RowKey"], "counting of a domain's accounts", cancellationToken)
            .Skip(than).AnyAsync(cancellationToken);

    private async Task<IReadOnlyList<int>> ReadRowsAsync(Account account, int rows, CancellationToken cancellationToken)
    {
        var found = await Task.WhenAll(
            Enumerable.Range(0, rows).Select(row => ReadRowAsync(account.Domain, RowKey(account.Alias, row), cancellationToken)));
        return [.. found.SelectMany(marks => marks).Order()];
    }

    private async Task<IReadOnlyList<int>> ReadRowAsync(string partition, string key, CancellationToken cancellationToken) =>
        await reads.TryReadAsync(Table.Name, partition, key, cancellationToken)
        ?? (await Table.FindAsync(partition, key, "looking up an account", cancellationToken) is { } entity ? MarksOf(entity) : []);
}
