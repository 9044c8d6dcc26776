namespace HibpIngest.Stores;

/// <summary>
/// Maps the accounts and hashes of a layout to partitions and storage accounts. A contract (docs/tables.md): every reader computes the
/// same.
/// </summary>
public sealed class LayoutPlacement
{
    /// <summary>Length of the suffix in the partition key of a spread domain: <c>!07</c>.</summary>
    public const int SuffixLength = 3;

    private const byte Separator = (byte)'!'; // no domain holds one

    private readonly int[] _storageAccounts;
    private readonly uint[] _hashes;
    private readonly (byte[] Domain, int Partitions)[] _spread; // sorted by hash

    public LayoutPlacement(LayoutFacts facts)
    {
        _storageAccounts = [.. facts.StorageAccounts];
        _spread = [.. facts.SpreadDomains.Select(spread => (Encoding.ASCII.GetBytes(spread.Key), spread.Value))
            .OrderBy(spread => Hash(spread.Item1))];
        _hashes = [.. _spread.Select(spread => Hash(spread.Domain))];
    }

    /// <summary>Returns the number of partitions of a domain; 1: it is not spread.</summary>
    /// <param name="domain">Lower-case ASCII.</param>
    public int PartitionsOf(ReadOnlySpan<byte> domain)
    {
        if (_spread.Length == 0)
            return 1;
        var hash = Hash(domain);
        var at = Array.BinarySearch(_hashes, hash);
        if (at < 0)
            return 1;
        while (at > 0 && _hashes[at - 1] == hash)
            at--;
        for (; at < _hashes.Length && _hashes[at] == hash; at++)
        {
            if (domain.SequenceEqual(_spread[at].Domain))
                return _spread[at].Partitions;
        }
        return 1;
    }

    /// <summary>Returns the index of the partition of a spread domain that holds an alias.</summary>
    /// <param name="alias">Lower-case ASCII.</param>
    public static int BucketOf(ReadOnlySpan<byte> alias, int partitions) => (int)(Hash(alias) % (uint)partitions);

    /// <summary>
    /// Returns the number of the storage account that holds an account partition. The partitions of one domain are assigned round-robin, so
    /// that their counts per storage account differ by at most one.
    /// </summary>
    /// <param name="domain">The domain without the suffix of the partition.</param>
    /// <param name="bucket">Index of the partition; 0 if the domain is not spread.</param>
    public int StorageAccountOf(ReadOnlySpan<byte> domain, int bucket) =>
        _storageAccounts.Length == 1 ? _storageAccounts[0]
        : _storageAccounts[(int)(((ulong)Hash(domain) + (uint)bucket) % (uint)_storageAccounts.Length)];

    /// <summary>Returns the number of the storage account that holds a partition of hashes.</summary>
    /// <param name="firstByte">First byte of the SHA-1; its two digits are the partition key.</param>
    public int StorageAccountOfRange(int firstByte) => _storageAccounts[firstByte % _storageAccounts.Length];

    /// <summary>Writes the key of one partition of a spread domain, and returns its length.</summary>
    public static int WritePartition(ReadOnlySpan<byte> domain, int bucket, Span<byte> key)
    {
        domain.CopyTo(key);
        key[domain.Length] = Separator;
        bucket.TryFormat(key[(domain.Length + 1)..], out _, "x2", CultureInfo.InvariantCulture);
        return domain.Length + SuffixLength;
    }

    /// <summary>Returns the partition of one account.</summary>
    public PartitionPlace Find(Account account)
    {
        var name = Encoding.ASCII.GetBytes(account.Domain);
        var partitions = PartitionsOf(name);
        return Place(
            account.Domain, name, partitions, partitions == 1 ? 0 : BucketOf(Encoding.ASCII.GetBytes(account.Alias), partitions));
    }

    /// <summary>Returns every partition of a domain, in key order.</summary>
    public IReadOnlyList<PartitionPlace> FindAll(string domain)
    {
        var name = Encoding.ASCII.GetBytes(domain);
        var partitions = PartitionsOf(name);
        return [.. Enumerable.Range(0, partitions).Select(bucket => Place(domain, name, partitions, bucket))];
    }

    public static string DomainOf(string partition) =>
        partition.Length > SuffixLength && partition[^SuffixLength] == Separator ? partition[..^SuffixLength] : partition;

    private PartitionPlace Place(string domain, byte[] name, int partitions, int bucket) => new(
        partitions == 1 ? domain : string.Create(CultureInfo.InvariantCulture, $"{domain}!{bucket:x2}"), StorageAccountOf(name, bucket));

    /// <summary>CRC-32C (Castagnoli), as in iSCSI: hardware-accelerated.</summary>
    private static uint Hash(ReadOnlySpan<byte> text) => Crc32C.Compute(text);
}

/// <param name="StorageAccount">Number among the store's storage accounts.</param>
public readonly record struct PartitionPlace(string Partition, int StorageAccount);
