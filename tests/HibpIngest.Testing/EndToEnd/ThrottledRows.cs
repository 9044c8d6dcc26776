namespace HibpIngest.Testing;

/// <summary>Accounts of which every third is in one domain, and the others in hundreds: a few large ones and a long tail.</summary>
internal static class ThrottledRows
{
    public const string Hot = "gmail.com";
    private const int Domains = 300;

    /// <summary>Returns the i-th account, 0-based; all differ.</summary>
    public static (byte[] Alias, byte[] Domain) Account(int index)
    {
        var alias = Encoding.ASCII.GetBytes($"user.{index}");
        if (index % 3 == 0)
            return (alias, Encoding.ASCII.GetBytes(Hot));
        // Evenly distributed, and the same in each run.
        var spread = unchecked((uint)index * 2654435769u) / (double)uint.MaxValue;
        return (alias, Encoding.ASCII.GetBytes($"d{(int)Math.Pow(Domains, spread)}.example.org"));
    }

    public static IEnumerable<AccountBatch> Batches(int rows) => PreparedLoad.Batches(rows, (batch, number) =>
    {
        var (alias, domain) = Account(number);
        batch.Add(alias, domain);
    });

    /// <summary>Returns the least number of seconds for this many rows.</summary>
    /// <param name="partitions">Number of partitions of <see cref="Hot"/>; each other domain has one.</param>
    public static double Bound(int rows, TableLimits limits, int partitions = 1)
    {
        var hot = (rows + 2) / 3.0 / partitions;
        var partition = (hot / limits.PartitionRate) - limits.BurstSeconds;
        return limits.OnlyPartition is null ? Math.Max(partition, (rows / limits.AccountRate) - limits.BurstSeconds) : partition;
    }
}
