namespace HibpIngest.Testing;

/// <summary>Computes an account's place from docs/tables.md bit by bit, without the product's code.</summary>
internal static class PlacementReference
{
    private const uint Castagnoli = 0x82F63B78; // reversed

    public static uint Hash(string text)
    {
        var crc = 0xFFFFFFFFu;
        foreach (var one in Encoding.ASCII.GetBytes(text))
        {
            crc ^= one;
            for (var bit = 0; bit < 8; bit++)
                crc = (crc & 1) != 0 ? (crc >> 1) ^ Castagnoli : crc >> 1;
        }
        return crc ^ 0xFFFFFFFF;
    }

    public static PartitionPlace Find(LayoutFacts facts, string alias, string domain)
    {
        var spread = facts.SpreadDomains.TryGetValue(domain, out var partitions);
        var bucket = spread ? Hash(alias) % (uint)partitions : 0;
        var key = spread ? $"{domain}!{bucket.ToString("x2", CultureInfo.InvariantCulture)}" : domain;
        return new PartitionPlace(key, facts.StorageAccounts[(int)(((long)Hash(domain) + bucket) % facts.StorageAccounts.Count)]);
    }

    public static int OfHash(LayoutFacts facts, string hash) => facts.StorageAccounts[
        int.Parse(hash[..2], NumberStyles.HexNumber, CultureInfo.InvariantCulture) % facts.StorageAccounts.Count];
}
