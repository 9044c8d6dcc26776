using System.Collections.Concurrent;
using HibpIngest.Journal.Segments;

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

    private readonly AccountSort _sort = new();
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

    private void Sort()
    {
        var accounts = Accounts;
        _sort.Sort(accounts);
        _domains.Clear();
        Entities = 0;
        var sorted = _sort.Order;
        for (var rank = 0; rank < _sort.Domains; rank++)
        {
            var (first, rows) = (Entities, _sort.Rows(rank));
            foreach (var account in sorted[..rows])
            {
                // Past the dedupe cap a slice may hold an account twice, but a transaction must not.
                if (Entities > first && accounts.Alias(account).SequenceEqual(accounts.Alias(_order[Entities - 1])))
                    continue;
                _order[Entities] = account;
                _aliases[Entities] = accounts.AliasRange(account);
                Entities++;
            }
            _domains.Add((first, Entities - first));
            sorted = sorted[rows..];
        }
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
