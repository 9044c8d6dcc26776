using System.IO.Hashing;
using System.Numerics;
using System.Text;

namespace HibpIngest.AccountLog;

/// <summary>
/// Into how many partitions the rows of a merge go, so that each fits into memory, and into which one each goes. A
/// domain's are together, but for the largest, which would make one partition huge: theirs go by alias.
/// </summary>
internal sealed class MergePlan
{
    /// <summary>Of a row on disk, measured with common addresses: 20.8.</summary>
    private const int RowBytes = 21;

    /// <summary>A partition is in memory as read, and about five times as much is made of it.</summary>
    private const int MemoryPerByte = 6;

    /// <summary>A file each: fewer than a process may have open by default (1,024).</summary>
    private const int MostPartitions = 512;

    /// <summary>A domain is large where it makes more than this part of a partition.</summary>
    private const int PartOfPartition = 8;

    private readonly HashSet<ulong> _large = [];

    /// <param name="memoryBytes">That a partition may take, with what is made of it.</param>
    /// <param name="domains">The large domains of each segment, as its footer has them.</param>
    public MergePlan(long rows, long memoryBytes, IEnumerable<LargeDomain> domains)
    {
        var wanted = Math.Max(rows * RowBytes / Math.Max(memoryBytes / MemoryPerByte, 1), 1);
        Partitions = (int)Math.Min(BitOperations.RoundUpToPowerOf2((ulong)wanted), MostPartitions);
        foreach (var domain in domains.GroupBy(one => one.Domain, one => (long)one.Rows))
        {
            if (domain.Sum() > rows / (PartOfPartition * Partitions))
                _large.Add(Hash(Encoding.ASCII.GetBytes(domain.Key)));
        }
    }

    /// <summary>A power of two.</summary>
    public int Partitions { get; }

    /// <summary>The partition of all of a domain's accounts; -1: they go by alias.</summary>
    public int PartitionOf(ReadOnlySpan<byte> domain)
    {
        var hash = Hash(domain);
        return Partitions > 1 && _large.Contains(hash) ? -1 : (int)(hash & (ulong)(Partitions - 1));
    }

    /// <summary>The partition of an account of a large domain.</summary>
    public int PartitionOfAlias(ReadOnlySpan<byte> alias) => (int)(Hash(alias) & (ulong)(Partitions - 1));

    private static ulong Hash(ReadOnlySpan<byte> bytes) => XxHash3.HashToUInt64(bytes);
}
