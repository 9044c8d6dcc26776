using System.Runtime.CompilerServices;
using Azure.Data.Tables;

namespace HibpIngest.Storage.Azure.Tables;

internal sealed partial class AccountTable : IAccountReads
{
    private const string LookupOperation = "look-up of an account";

    public Task<IReadOnlyList<int>> GetMarksAsync(string domain, string alias, int highestMark, CancellationToken cancellationToken) =>
        highestMark <= IAccountTable.MarksPerRow
        ? ReadRowAsync(domain, alias, cancellationToken) : ReadRowsAsync(domain, alias, RowOf(highestMark) + 1, cancellationToken);

    public async IAsyncEnumerable<AccountEntry> ReadDomainAsync(
        string domain, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        await foreach (var (alias, marks) in ReadKeysAsync(
            TableClient.CreateQueryFilter($"PartitionKey eq {domain}"), null, "reading of a domain's accounts", cancellationToken))
            yield return new AccountEntry(alias, marks);
    }

    public async Task<bool> HasMoreAccountsAsync(string domain, int than, CancellationToken cancellationToken)
    {
        var count = 0;
        await foreach (var _ in ReadKeysAsync(
            TableClient.CreateQueryFilter($"PartitionKey eq {domain}"), ["RowKey"], "counting of a domain's accounts", cancellationToken))
        {
            if (++count > than)
                return true;
        }
        return false;
    }

    private async Task<IReadOnlyList<int>> ReadRowsAsync(string domain, string alias, int rows, CancellationToken cancellationToken)
    {
        var found = new Task<IReadOnlyList<int>>[rows];
        for (var row = 0; row < rows; row++)
            found[row] = ReadRowAsync(domain, RowKey(alias, row), cancellationToken);
        return [.. (await Task.WhenAll(found)).SelectMany(marks => marks).Order()];
    }

    private async Task<IReadOnlyList<int>> ReadRowAsync(string domain, string key, CancellationToken cancellationToken) =>
        await reads.TryReadAsync(Table.Name, domain, key, cancellationToken)
        ?? (await Table.FindAsync(domain, key, LookupOperation, cancellationToken) is { } entity ? MarksOf(entity) : []);
}
