using System.Globalization;
using System.Runtime.CompilerServices;
using System.Text;
using System.Text.Json;
using HibpIngest.Stores;
using Microsoft.Extensions.Logging;

namespace HibpIngest.AzureStorage.Tables;

internal sealed partial class AccountTable(TableService tables, WriteThrottle throttle, string table, ILogger<AccountTable> logger)
    : IAccountTable
{
    /// <summary>
    /// 15 comparisons are allowed (learn.microsoft.com/rest/api/storageservices/querying-tables-and-entities),
    /// one of them the partition's.
    /// </summary>
    private const int MaxFiltered = 14;

    private readonly byte[] _address = tables.TableAddress(table);

    public Task CreateAsync(CancellationToken cancellationToken) => tables.CreateTableAsync(table, cancellationToken);

    public async Task UpsertAsync(
        ReadOnlyMemory<byte> domain, ReadOnlyMemory<Range> aliases, ReadOnlyMemory<byte> bytes, int mark, TransactionsInFlight inFlight,
        CancellationToken cancellationToken)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(mark, 1);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(aliases.Length, IAccountTable.MaxTransactionEntities);
        if (aliases.IsEmpty)
            return;
        if (aliases.Length == 1)
        {
            // Most domains of a breach have one account in it. Without the envelope of a transaction, the
            // emulator takes 40% less time over it.
            var alias = Encoding.ASCII.GetString(bytes.Span[aliases.Span[0]]);
            var (partition, row) = (Encoding.ASCII.GetString(domain.Span), RowKey(alias, (mark - 1) / IAccountTable.MarksPerRow));
            await throttle.SendAsync(domain, 1, inFlight, () =>
                tables.MergeAsync(
                    table, partition, row, writer => writer.WriteBoolean(Property(mark), true), "upsert of 1 account", cancellationToken));
            return;
        }

        await throttle.SendAsync(domain, aliases.Length, inFlight, async () =>
        {
            // Not before its turn: thousands may wait for it.
            using var transaction = TableTransaction.Upsert(_address, domain.Span, aliases.Span, bytes.Span, mark);
            return await tables.SubmitAsync(transaction, cancellationToken);
        });
    }

    public async IAsyncEnumerable<string> ListAliasesAsync(
        string domain, IReadOnlyCollection<int> marks, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        if (marks.Count == 0)
            yield break;
        var wanted = marks.Select(Property).ToArray();
        var filter = $"PartitionKey eq '{domain.Replace("'", "''", StringComparison.Ordinal)}'";
        // Past that many comparisons the service refuses a filter; then all of the domain is read.
        var filtered = wanted.Length <= MaxFiltered;
        if (filtered)
            filter += $" and ({string.Join(" or ", wanted.Select(property => $"{property} eq true"))})";
        string? last = null;
        await foreach (var entity in tables.QueryAsync(
            table, filter, $"RowKey,{string.Join(',', wanted)}", "listing of a domain's accounts", cancellationToken))
        {
            // The rows of an account lie side by side: '!' sorts below every character of an alias.
            var alias = Alias(entity.GetProperty("RowKey").GetString()!);
            if (alias == last || !filtered && !Array.Exists(
                wanted, property => entity.TryGetProperty(property, out var value) && value.ValueKind == JsonValueKind.True))
                continue;
            yield return last = alias;
        }
    }

    private static string Property(int mark) => string.Create(CultureInfo.InvariantCulture, $"b{mark}");

    private static string RowKey(string alias, int row) => row == 0 ? alias : string.Create(CultureInfo.InvariantCulture, $"{alias}!{row}");

    private static string Alias(string rowKey)
    {
        var mark = rowKey.IndexOf('!', StringComparison.Ordinal);
        return mark < 0 ? rowKey : rowKey[..mark];
    }
}
