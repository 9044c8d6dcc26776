namespace HibpIngest.Pipeline.Upsert;

/// <summary>The keys of an account's hash as strings, for scans of a table, which don't need the write path's speed.</summary>
internal static class RangeKeys
{
    public static (string Partition, string Row) Of(ReadOnlySpan<byte> alias, ReadOnlySpan<byte> domain)
    {
        Span<byte> row = stackalloc byte[AccountHash.RowDigits];
        var partition = AccountHash.Write(alias, domain, row);
        return ($"{partition:X2}", Encoding.ASCII.GetString(row));
    }

    public static TablePlace PlaceOf(string partition, LayoutFacts facts, LayoutPlacement placement) => new(
        placement.StorageAccountOfRange(byte.Parse(partition, NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture)),
        facts.RangesTable);
}
