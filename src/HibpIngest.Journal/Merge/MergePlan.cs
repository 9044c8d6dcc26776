using System.Numerics;

namespace HibpIngest.Journal.Merge;

/// <summary>
/// Assigns the rows of a merge to partitions that fit into memory. A domain's rows go to one partition, except those of the largest
/// domains, which would make a partition huge: they go by alias.
/// </summary>
internal sealed class MergePlan
{
    /// <summary>Size of a row on disk, measured with common addresses: 20.8.</summary>
    private const int RowBytes = 21;

    /// <summary>A partition is in memory as read, with about five times as much built from it.</summary>
    private const int MemoryPerByte = 6;

    /// <summary>Each is a file: fewer than a process may have open by default (1,024).</summary>
    private const int MaxPartitions = 512;

    /// <summary>A domain is large if it has more than 1/8 of a partition's rows.</summary>
    private const int PartOfPartition = 8;

    private readonly HashSet<ulong> _large = [];

    public MergePlan(long rows, long memoryBytes, IEnumerable<LargeDomain> domains)
    {
        var wanted = Math.Max(rows * RowBytes / Math.Max(memoryBytes / MemoryPerByte, 1), 1);
        Partitions = (int)Math.Min(BitOperations.RoundUpToPowerOf2((ulong)wanted), MaxPartitions);
        foreach (var domain in domains.GroupBy(one => one.Domain, one => (long)one.Rows))
        {
            if (domain.Sum() > rows / (PartOfPartition * Partitions))
                _large.Add(Hash(Encoding.ASCII.GetBytes(domain.Key)));
        }
    }

    public int Partitions { get; }

    /// <returns>The partition of all of a domain's accounts; -1: they go by alias.</returns>
    public int PartitionOf(ReadOnlySpan<byte> domain)
    {
        var hash = Hash(domain);
        return Partitions > 1 && _large.Contains(hash) ? -1 : (int)(hash & (ulong)(Partitions - 1));
    }

    public int PartitionOfAlias(ReadOnlySpan<byte> alias) => (int)(Hash(alias) & (ulong)(Partitions - 1));

    private static ulong Hash(ReadOnlySpan<byte> bytes) => XxHash3.HashToUInt64(bytes);
}
