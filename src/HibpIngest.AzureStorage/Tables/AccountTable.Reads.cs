using System.Runtime.CompilerServices;
using System.Text.Json;
using HibpIngest.Stores;

namespace HibpIngest.AzureStorage.Tables;

internal sealed partial class AccountTable : IAccountReads
{
    private const string LookupOperation = "look-up of an account";

    public Task<IReadOnlyList<int>> GetMarksAsync(string domain, string alias, int highestMark, CancellationToken cancellationToken) =>
        highestMark <= IAccountTable.MarksPerRow
        ? ReadRowAsync(domain, alias, cancellationToken) : ReadRowsAsync(domain, alias, RowOf(highestMark) + 1, cancellationToken);

    public async IAsyncEnumerable<AccountEntry> ReadDomainAsync(
        string domain, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        AccountEntry? pending = null;
        await foreach (var page in Tables.QueryBytesAsync(
            Table, $"PartitionKey eq '{Quoted(domain)}'", null, "reading of a domain's accounts", cancellationToken))
        {
            foreach (var (key, marks) in Rows(page))
            {
                // The rows of an account lie side by side: '!' sorts below every character of an alias.
                var (alias, _) = SplitRowKey(key);
                if (pending is not null && pending.Alias == alias)
                {
                    pending = pending with { Marks = [.. pending.Marks.Concat(marks).Order()] };
                    continue;
                }
                if (pending is not null)
                    yield return pending;
                pending = new AccountEntry(alias, marks);
            }
        }
        if (pending is not null)
            yield return pending;
    }

    public async Task<bool> HasMoreAccountsAsync(string domain, int than, CancellationToken cancellationToken)
    {
        var count = 0;
        string? last = null;
        await foreach (var page in Tables.QueryBytesAsync(
            Table, $"PartitionKey eq '{Quoted(domain)}'", "RowKey", "counting of a domain's accounts", cancellationToken))
        {
            foreach (var (key, _) in Rows(page))
            {
                var (alias, _) = SplitRowKey(key);
                if (alias == last)
                    continue;
                last = alias;
                if (++count > than)
                    return true;
            }
        }
        return false;
    }

    private async Task<IReadOnlyList<int>> ReadRowsAsync(string domain, string alias, int rows, CancellationToken cancellationToken)
    {
        var reads = new Task<IReadOnlyList<int>>[rows];
        for (var row = 0; row < rows; row++)
            reads[row] = ReadRowAsync(domain, RowKey(alias, row), cancellationToken);
        return [.. (await Task.WhenAll(reads)).SelectMany(marks => marks).Order()];
    }

    private Task<IReadOnlyList<int>> ReadRowAsync(string domain, string key, CancellationToken cancellationToken) =>
        Tables.FindAsync(Table, domain, key, AccountRows.ReadMarks, AccountRows.None, LookupOperation, cancellationToken);

    private static List<(string Key, IReadOnlyList<int> Marks)> Rows(ReadOnlyMemory<byte> page)
    {
        try
        {
            return AccountRows.ReadPage(page.Span);
        }
        catch (JsonException)
        {
            throw TableAnswer.Malformed("reading of a domain's accounts");
        }
    }
}
