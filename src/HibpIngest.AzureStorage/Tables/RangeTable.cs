using System.Globalization;
using System.Text;
using HibpIngest.Accounts;
using HibpIngest.Stores;
using Microsoft.Extensions.Logging;

namespace HibpIngest.AzureStorage.Tables;

internal sealed class RangeTable(TableService tables, WriteThrottle throttle, string table, ILogger<RangeTable> logger)
    : MarkTable(tables, throttle, table, partStarts: "0123456789ABCDEF", logger), IRangeTable
{
    private const int PrefixDigits = 6;

    /// <summary>Of a row's key: the digits that a range names beside the partition.</summary>
    private const int RowPrefixDigits = PrefixDigits - AccountHash.PartitionDigits;

    public async Task<IReadOnlyList<RangeEntry>> ReadRangeAsync(string prefix, CancellationToken cancellationToken)
    {
        if (prefix.Length != PrefixDigits || prefix.AsSpan().ContainsAnyExcept("0123456789ABCDEF"))
            throw new ArgumentException($"six upper-case hex digits are expected, found {prefix.Length} characters", nameof(prefix));
        var (partition, first) = (prefix[..AccountHash.PartitionDigits], prefix[AccountHash.PartitionDigits..]);
        var filter = $"PartitionKey eq '{partition}' and RowKey ge '{first}' and RowKey lt '{Behind(first)}'";
        var entries = new List<RangeEntry>();
        var marks = new List<int>();
        string? last = null;
        // The rows of a hash lie side by side: '!' sorts below every digit.
        await foreach (var entity in Tables.QueryAsync(Table, filter, null, "reading of a range", cancellationToken))
        {
            var (key, _) = SplitRowKey(entity.GetProperty("RowKey").GetString()!);
            if (key != last)
                Add();
            last = key;
            marks.AddRange(MarksOf(entity));
        }
        Add();
        return entries;

        void Add()
        {
            if (last is not null)
                entries.Add(new RangeEntry(last[RowPrefixDigits..], [.. marks.Order()]));
            marks.Clear();
        }
    }

    public async Task FillAsync(string partition, IReadOnlyList<MarkedRow> rows, CancellationToken cancellationToken)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThan(rows.Count, IAccountTable.MaxTransactionEntities);
        if (rows.Count == 0)
            return;
        var key = Encoding.ASCII.GetBytes(partition);
        await SendPatientlyAsync(key, rows.Count, address => TableTransaction.Merge(address, key, rows), cancellationToken);
    }

    /// <summary>The first key behind all that begin with these digits.</summary>
    private static string Behind(string digits)
    {
        var next = int.Parse(digits, NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture) + 1;
        return next < 1 << (4 * RowPrefixDigits) ? next.ToString($"X{RowPrefixDigits}", CultureInfo.InvariantCulture) : "G";
    }
}
