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
        var filter = $"PartitionKey eq '{partition}' and RowKey ge '{first}' and RowKey lt '{KeyAfter(first)}'";
        return await ReadKeysAsync(filter, null, "reading of a range", cancellationToken)
            .Select(row => new RangeEntry(row.Key[RowPrefixDigits..], row.Marks)).ToListAsync(cancellationToken);
    }

    /// <summary>Returns the first key after all that begin with these digits.</summary>
    private static string KeyAfter(string digits)
    {
        var next = int.Parse(digits, NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture) + 1;
        return next < 1 << (4 * RowPrefixDigits) ? next.ToString($"X{RowPrefixDigits}", CultureInfo.InvariantCulture) : "G";
    }
}
