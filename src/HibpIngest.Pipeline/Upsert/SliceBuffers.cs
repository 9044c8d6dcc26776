using System.Collections.Concurrent;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace HibpIngest.Pipeline.Upsert;

/// <summary>
/// Cuts the rows of one slice into entity group transactions: one partition of one layout each, with each account once and at most
/// <see cref="IAccountTable.MaxTransactionEntities"/> rows. Their order is the same on every run under the same layouts, as it must be:
/// progress is recorded as places in that order. Buffers are pooled across slices.
/// </summary>
internal sealed class SliceBuffers
{
    // As many slices as a process handles concurrently under the host's queue settings; excess buffers are garbage-collected.
    private const int MaxPooled = 32;

    /// <summary>Must be raised by any change of the transactions' order: progress recorded in another order doesn't count.</summary>
    public const int OrderVersion = 3;

    private const int RangePartitions = 1 << (4 * AccountHash.PartitionDigits);

    private static readonly byte[] RangeKeys = Encoding.ASCII.GetBytes(
        string.Concat(Enumerable.Range(0, RangePartitions).Select(partition => $"{partition:X2}")));

    private static readonly ConcurrentBag<SliceBuffers> Pool = [];

    // Sorting: bits of a key that hold the first bytes of the alias, below the domain's rank; each domain's number, by the hash of the
    // domain; one account of each domain; and the ranks by number.
    private const int PrefixBits = 40;

    private readonly Dictionary<UInt128, int> _numbers = [];
    private readonly List<(int Account, int Number)> _ranked = [];
    private readonly int[] _ranks;
    private readonly ulong[] _keys;

    private readonly int[] _order;
    private readonly Range[] _aliases;
    private readonly List<(int First, int Count)> _domains = [];
    private readonly List<Cut> _cuts = [];
    private readonly TransactionOrder _sequence;

    // Domains that a layout spreads: their aliases by partition, and the partitions' keys.
    private Range[] _spreadAliases = [];
    private int _spreadCount;
    private byte[] _spreadKeys = [];
    private int _spreadKeysLength;

    // The accounts' hashes, if they are written: the row digits, of fixed length for each account; the partitions; and the rows sorted by
    // partition, with _rangeStarts holding the first row of each.
    private byte[] _digits = [];
    private byte[] _partitions = [];
    private Range[] _rangeRows = [];
    private int[] _rangeStarts = [];

    private SliceBuffers(int rows)
    {
        Accounts = new AccountBatch(rows);
        _ranks = new int[rows];
        _keys = new ulong[rows];
        _order = new int[rows];
        _aliases = new Range[rows];
        _sequence = new TransactionOrder(2 * rows); // enough for one layout: a transaction has at least one account
    }

    public AccountBatch Accounts { get; }

    public int Entities { get; private set; }

    public static SliceBuffers Rent(int rows) =>
        Pool.TryTake(out var buffers) && buffers.Accounts.Capacity >= rows ? buffers : new SliceBuffers(rows);

    public static void Return(SliceBuffers buffers)
    {
        buffers.Accounts.Clear();
        if (Pool.Count < MaxPooled)
            Pool.Add(buffers);
    }

    /// <returns>The number of transactions.</returns>
    public int Group(IReadOnlyList<SliceLayout> layouts)
    {
        Sort();
        if (layouts.Any(layout => layout.WithRanges))
            Hash();
        _cuts.Clear();
        (_spreadCount, _spreadKeysLength) = (0, 0);
        var partition = 0;
        for (var layout = 0; layout < layouts.Count; layout++)
        {
            var (placement, withRanges) = layouts[layout];
            CutAccounts(layout, placement, ref partition);
            if (withRanges)
                CutRanges(layout, placement, ref partition);
        }
        OrderCuts();
        return _cuts.Count;
    }

    public SliceTransaction Transaction(int index)
    {
        var cut = _cuts[_sequence[index]];
        return cut.Kind switch
        {
            CutKind.Domain => Made(Accounts.DomainMemory(_order[cut.First]), _aliases, Accounts.Memory),
            CutKind.SpreadDomain => Made(_spreadKeys.AsMemory(cut.Key, cut.KeyLength), _spreadAliases, Accounts.Memory),
            _ => Made(RangeKeys.AsMemory(cut.Key, cut.KeyLength), _rangeRows, _digits),
        };

        SliceTransaction Made(ReadOnlyMemory<byte> partition, Range[] rows, ReadOnlyMemory<byte> bytes) => new(
            cut.Layout, cut.Kind == CutKind.Range, cut.StorageAccount, partition, rows.AsMemory(cut.First, cut.Count), bytes);
    }

    // Compares accounts by one number, made of the rank of the domain and the first bytes of the alias; those that share it, by the whole
    // alias. Optimized at the first call: otherwise, the unoptimized code runs for seconds.
    [MethodImpl(MethodImplOptions.AggressiveOptimization)]
    private void Sort()
    {
        var accounts = Accounts;
        var order = _order.AsSpan(0, accounts.Count);
        var keys = _keys.AsSpan(0, accounts.Count);
        RankDomains(keys);
        for (var i = 0; i < order.Length; i++)
            (order[i], keys[i]) = (i, ((ulong)_ranks[(int)keys[i]] << PrefixBits) | Prefix(accounts.Alias(i)));
        keys.Sort(order);
        Comparison<int> byAlias = (left, right) => accounts.Alias(left).SequenceCompareTo(accounts.Alias(right));
        for (int start = 0, end; start < order.Length; start = end)
        {
            for (end = start + 1; end < order.Length && keys[end] == keys[start];)
                end++;
            if (end - start > 1)
                order[start..end].Sort(byAlias);
        }

        _domains.Clear();
        Entities = 0;
        var first = 0;
        for (var i = 0; i < order.Length; i++)
        {
            var sameDomain = i > 0 && keys[i] >> PrefixBits == keys[i - 1] >> PrefixBits;
            // Past the dedupe cap a slice may hold an account twice, but a transaction must not.
            if (sameDomain && accounts.Alias(order[i]).SequenceEqual(accounts.Alias(order[i - 1])))
                continue;
            if (Entities > first && !sameDomain)
            {
                _domains.Add((first, Entities - first));
                first = Entities;
            }
            // order[Entities] has been read already, so the distinct accounts are moved up in place.
            order[Entities] = order[i];
            _aliases[Entities] = accounts.AliasRange(order[i]);
            Entities++;
        }
        if (Entities > first)
            _domains.Add((first, Entities - first));
    }

    /// <summary>Numbers the domains as they appear, and ranks the numbers by the domains' order.</summary>
    /// <param name="numbers">Receives the number of each account's domain.</param>
    [MethodImpl(MethodImplOptions.AggressiveOptimization)]
    private void RankDomains(Span<ulong> numbers)
    {
        var accounts = Accounts;
        _numbers.Clear();
        _ranked.Clear();
        for (var i = 0; i < numbers.Length; i++)
        {
            ref var number = ref CollectionsMarshal.GetValueRefOrAddDefault(
                _numbers, SeededAccountHash.ComputeDomain(accounts.Domain(i)), out var isKnown);
            if (!isKnown)
            {
                number = _ranked.Count;
                _ranked.Add((i, number));
            }
            numbers[i] = (ulong)number;
        }
        _ranked.Sort((left, right) => accounts.Domain(left.Account).SequenceCompareTo(accounts.Domain(right.Account)));
        for (var rank = 0; rank < _ranked.Count; rank++)
            _ranks[_ranked[rank].Number] = rank;
    }

    private static ulong Prefix(ReadOnlySpan<byte> alias)
    {
        Span<byte> first = stackalloc byte[sizeof(ulong)];
        first.Clear();
        alias[..Math.Min(alias.Length, PrefixBits / 8)].CopyTo(first);
        return BinaryPrimitives.ReadUInt64BigEndian(first) >> (64 - PrefixBits);
    }

    private void CutAccounts(int layout, LayoutPlacement placement, ref int partition)
    {
        foreach (var (first, count) in _domains)
        {
            var domain = Accounts.Domain(_order[first]);
            if (placement.PartitionsOf(domain) is > 1 and var partitions)
                CutSpread(layout, placement, domain, partitions, (first, count), ref partition);
            else
                Add(new Cut(layout, CutKind.Domain, placement.StorageAccountOf(domain, 0), partition++, first, count, 0, 0));
        }
    }

    private void CutSpread(
        int layout, LayoutPlacement placement, ReadOnlySpan<byte> domain, int partitions, (int First, int Count) accounts,
        ref int partition)
    {
        Reserve(ref _spreadAliases, _spreadCount + accounts.Count);
        Span<int> next = stackalloc int[LayoutFacts.MaxPartitions];
        next.Clear();
        for (var i = accounts.First; i < accounts.First + accounts.Count; i++)
            next[LayoutPlacement.BucketOf(Accounts.Alias(_order[i]), partitions)]++;
        for (var bucket = 0; bucket < partitions; bucket++)
        {
            var (first, count) = (_spreadCount, next[bucket]);
            next[bucket] = first;
            _spreadCount += count;
            if (count == 0)
                continue;
            Reserve(ref _spreadKeys, _spreadKeysLength + domain.Length + LayoutPlacement.SuffixLength);
            var length = LayoutPlacement.WritePartition(domain, bucket, _spreadKeys.AsSpan(_spreadKeysLength));
            var account = placement.StorageAccountOf(domain, bucket);
            Add(new Cut(layout, CutKind.SpreadDomain, account, partition++, first, count, _spreadKeysLength, length));
            _spreadKeysLength += length;
        }
        for (var i = accounts.First; i < accounts.First + accounts.Count; i++)
            _spreadAliases[next[LayoutPlacement.BucketOf(Accounts.Alias(_order[i]), partitions)]++] = _aliases[i];
    }

    // Once a slice for all layouts, since a hash takes some 300 ns. The rows of a partition keep the order of the accounts.
    private void Hash()
    {
        if (_partitions.Length == 0)
        {
            _digits = new byte[Accounts.Capacity * AccountHash.RowDigits];
            _partitions = new byte[Accounts.Capacity];
            _rangeRows = new Range[Accounts.Capacity];
            _rangeStarts = new int[RangePartitions + 1];
        }
        Span<int> next = stackalloc int[RangePartitions];
        next.Clear();
        for (var i = 0; i < Entities; i++)
        {
            _partitions[i] = AccountHash.Write(
                Accounts.Alias(_order[i]), Accounts.Domain(_order[i]), _digits.AsSpan(i * AccountHash.RowDigits, AccountHash.RowDigits));
            next[_partitions[i]]++;
        }
        for (var partition = 0; partition < RangePartitions; partition++)
        {
            _rangeStarts[partition + 1] = _rangeStarts[partition] + next[partition];
            next[partition] = _rangeStarts[partition];
        }
        for (var i = 0; i < Entities; i++)
        {
            var digits = i * AccountHash.RowDigits;
            _rangeRows[next[_partitions[i]]++] = digits..(digits + AccountHash.RowDigits);
        }
    }

    private void CutRanges(int layout, LayoutPlacement placement, ref int partition)
    {
        for (var range = 0; range < RangePartitions; range++)
        {
            var (first, count) = (_rangeStarts[range], _rangeStarts[range + 1] - _rangeStarts[range]);
            var account = placement.StorageAccountOfRange(range);
            if (count > 0)
            {
                Add(new Cut(
                    layout, CutKind.Range, account, partition++, first, count, range * AccountHash.PartitionDigits,
                    AccountHash.PartitionDigits));
            }
        }
    }

    private void Add(Cut whole)
    {
        for (var done = 0; done < whole.Count; done += IAccountTable.MaxTransactionEntities)
        {
            _cuts.Add(whole with
            {
                First = whole.First + done,
                Count = Math.Min(IAccountTable.MaxTransactionEntities, whole.Count - done),
            });
        }
    }

    private void OrderCuts()
    {
        _sequence.Begin(_cuts.Count);
        for (var start = 0; start < _cuts.Count;)
        {
            var end = start + 1;
            while (end < _cuts.Count && _cuts[end].Partition == _cuts[start].Partition)
                end++;
            _sequence.Place(start, end, (uint)_cuts[start].Partition);
            start = end;
        }
        _sequence.End();
    }

    private static void Reserve<T>(ref T[] buffer, int length)
    {
        if (buffer.Length < length)
            Array.Resize(ref buffer, Math.Max(length, 2 * buffer.Length));
    }

    private enum CutKind
    {
        Domain,
        SpreadDomain,
        Range,
    }

    /// <param name="Partition">Running number of its partition, over all layouts.</param>
    /// <param name="Key">Start of the partition's key; unused for a domain that isn't spread, whose key is in its first row.</param>
    private readonly record struct Cut(
        int Layout, CutKind Kind, int StorageAccount, int Partition, int First, int Count, int Key, int KeyLength);
}

internal readonly record struct SliceLayout(LayoutPlacement Placement, bool WithRanges)
{
    public static SliceLayout Of(StoreLayout layout) => new(new LayoutPlacement(layout.Facts), layout.WritesRanges);
}

/// <param name="Rows">Its row keys, as ranges in <paramref name="Bytes"/>.</param>
/// <param name="Bytes">Valid until the slice's buffers are returned.</param>
internal readonly record struct SliceTransaction(
    int Layout, bool OfRanges, int StorageAccount, ReadOnlyMemory<byte> Partition, ReadOnlyMemory<Range> Rows, ReadOnlyMemory<byte> Bytes);
