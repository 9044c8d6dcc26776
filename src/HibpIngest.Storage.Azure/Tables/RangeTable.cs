using Microsoft.Extensions.Logging;

namespace HibpIngest.Storage.Azure.Tables;

internal sealed class RangeTable(StorageTable table, WriteThrottle throttle, ILogger<RangeTable> logger)
    : MarkTable(table, throttle, partStarts: "0123456789ABCDEF", logger), IRangeTable
{
    private const int PrefixDigits = 6;

    /// <summary>Digits of a range's prefix that begin the row key; the others are the partition key.</summary>
    private const int RowPrefixDigits = PrefixDigits - AccountHash.PartitionDigits;

    public async Task<IReadOnlyList<RangeEntry>> ReadRangeAsync(string prefix, CancellationToken cancellationToken)
    {
        if (prefix.Length != PrefixDigits || prefix.AsSpan().ContainsAnyExcept("0123456789ABCDEF"))
            throw new ArgumentException($"six upper-case hex digits are expected, found {prefix.Length} characters", nameof(prefix));
        var (partition, first) = (prefix[..AccountHash.PartitionDigits], prefix[AccountHash.PartitionDigits..]);
        var filter = $"PartitionKey eq '{partition}' and RowKey ge '{first}' and RowKey lt '{first}G'"; // 'G' sorts after every digit
        return await ReadKeysAsync(filter, null, "reading of a range", cancellationToken)
            .Select(row => new RangeEntry(row.Key[RowPrefixDigits..], row.Marks)).ToListAsync(cancellationToken);
    }
}
