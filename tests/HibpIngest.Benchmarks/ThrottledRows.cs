using System.Globalization;
using System.Text;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Accounts of which every third is in one domain, and the others in hundreds: a few large ones and a long
/// tail.
/// </summary>
internal static class ThrottledRows
{
    public const string Hot = "gmail.com";
    private const int Domains = 300;

    /// <summary>The i-th (0-based); each is another.</summary>
    public static (byte[] Alias, byte[] Domain) Account(int index)
    {
        var alias = Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"user.{index}"));
        if (index % 3 == 0)
            return (alias, Encoding.ASCII.GetBytes(Hot));
        // Evenly spread, and the same each time.
        var spread = unchecked((uint)index * 2654435769u) / (double)uint.MaxValue;
        return (
            alias, Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"d{(int)Math.Pow(Domains, spread)}.example.org")));
    }

    /// <summary>Seconds that so many of them take at least.</summary>
    public static double Bound(int rows, TableLimits limits)
    {
        var hot = (rows + 2) / 3;
        var partition = (hot / limits.PartitionRate) - limits.BurstSeconds;
        return limits.OnlyPartition is null ? Math.Max(partition, (rows / limits.AccountRate) - limits.BurstSeconds) : partition;
    }
}
