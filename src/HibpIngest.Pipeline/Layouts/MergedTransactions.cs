using System.Collections.Concurrent;
using HibpIngest.Journal.Merge;

namespace HibpIngest.Pipeline.Layouts;

/// <summary>Entity group transactions that write a partition of a merge in one layout, in sending order. Buffers are reused.</summary>
internal sealed class MergedTransactions(LayoutFacts facts, IReadOnlyList<int> marks, bool withRanges)
{
    private const int RangePartitions = 1 << (4 * AccountHash.PartitionDigits);
    private const int MaxKeyBytes = 255 + LayoutPlacement.SuffixLength;

    private readonly LayoutPlacement _placement = new(facts);
    private readonly bool _oneRow = marks.All(mark => RowOf(mark) == 0);
    private readonly int _rows = marks.Max(RowOf) + 1;
    private readonly ConcurrentBag<Buffers> _pool = [];
    private readonly List<Cut> _cuts = [];
    private readonly TransactionOrder _order = new(1 << 12);

    private MergedPartition? _partition;

    // _firstGroup: a domain's first group. A group is a partition of accounts; _domainOf: its domain, _starts: where its rows begin.
    private int[] _firstGroup = [];
    private int[] _domainOf = [];
    private int[] _starts = [];

    // _groupOf: an account's group. _hashOf: the first byte of its hash.
    private int[] _groupOf = [];
    private byte[] _hashOf = [];

    private RowOfAccount[] _accounts = [];
    private RowOfAccount[] _hashes = [];

    public int Count => _cuts.Count;

    public void Fill(MergedPartition partition)
    {
        _partition = partition;
        _cuts.Clear();
        CutAccounts(partition);
        if (withRanges)
            CutRanges(partition);
        _order.Begin(_cuts.Count);
        var number = 0u;
        for (var start = 0; start < _cuts.Count;)
        {
            var end = start + 1;
            while (end < _cuts.Count && (_cuts[end].OfRanges, _cuts[end].Group) == (_cuts[start].OfRanges, _cuts[start].Group))
                end++;
            _order.Place(start, end, number++);
            start = end;
        }
        _order.End();
    }

    public MergedTransaction Make(int index)
    {
        var cut = _cuts[_order[index]];
        var buffers = _pool.TryTake(out var pooled) ? pooled : new Buffers();
        var rows = (cut.OfRanges ? _hashes : _accounts).AsSpan(cut.First, cut.Count);
        buffers.Marks.Clear();
        for (var i = 0; i < rows.Length; i++)
        {
            var marked = AddMarks(buffers.Marks, rows[i]);
            var (account, row) = rows[i];
            var key = cut.OfRanges ? WriteHash(account, i, buffers.Digits) : _partition!.AliasRange(account);
            buffers.Rows[i] = new RowMarks(key, row, marked);
        }
        var all = new MarkedRows(
            buffers.Rows.AsMemory(0, rows.Length), cut.OfRanges ? buffers.Digits : _partition!.Memory, buffers.Marks.Written);
        var (partition, storageAccount) = KeyOf(cut, buffers.Key);
        return new MergedTransaction(this, buffers, cut.OfRanges, storageAccount, partition, all);
    }

    private void CutAccounts(MergedPartition partition)
    {
        Grow(ref _firstGroup, partition.Domains + 1);
        for (var domain = 0; domain < partition.Domains; domain++)
            _firstGroup[domain + 1] = _firstGroup[domain] + _placement.PartitionsOf(partition.DomainName(domain).Span);
        var groups = _firstGroup[partition.Domains];
        Grow(ref _domainOf, groups);
        Grow(ref _starts, groups + 1);
        Grow(ref _groupOf, partition.Count);
        _starts.AsSpan(0, groups + 1).Clear();
        for (var domain = 0; domain < partition.Domains; domain++)
            _domainOf.AsSpan(_firstGroup[domain].._firstGroup[domain + 1]).Fill(domain);
        for (var account = 0; account < partition.Count; account++)
        {
            var domain = partition.DomainOf(account);
            var (group, of) = (_firstGroup[domain], _firstGroup[domain + 1] - _firstGroup[domain]);
            if (of > 1)
                group += LayoutPlacement.BucketOf(partition.Alias(account), of);
            _groupOf[account] = group;
            _starts[group + 1] += CountRows(account);
        }
        Place(partition, ref _accounts, groups, ofRanges: false);
    }

    private void CutRanges(MergedPartition partition)
    {
        Grow(ref _starts, RangePartitions + 1);
        Grow(ref _hashOf, partition.Count);
        _starts.AsSpan(0, RangePartitions + 1).Clear();
        Span<byte> digits = stackalloc byte[AccountHash.RowDigits];
        for (var account = 0; account < partition.Count; account++)
        {
            _hashOf[account] = AccountHash.Write(partition.Alias(account), partition.Domain(account), digits);
            _starts[_hashOf[account] + 1] += CountRows(account);
        }
        Place(partition, ref _hashes, RangePartitions, ofRanges: true);
    }

    private void Place(MergedPartition partition, ref RowOfAccount[] rows, int groups, bool ofRanges)
    {
        for (var group = 0; group < groups; group++)
            _starts[group + 1] += _starts[group];
        Grow(ref rows, _starts[groups]);
        for (var group = 0; group < groups; group++)
        {
            for (var first = _starts[group]; first < _starts[group + 1]; first += IAccountTable.MaxTransactionEntities)
            {
                var count = Math.Min(IAccountTable.MaxTransactionEntities, _starts[group + 1] - first);
                _cuts.Add(new Cut(first, count, group, ofRanges));
            }
        }
        Span<bool> has = stackalloc bool[_oneRow ? 0 : _rows];
        for (var account = 0; account < partition.Count; account++)
        {
            ref var next = ref _starts[ofRanges ? _hashOf[account] : _groupOf[account]];
            if (_oneRow)
            {
                rows[next++] = new RowOfAccount(account, 0);
                continue;
            }
            FindRows(account, has);
            for (var row = 0; row < has.Length; row++)
            {
                if (has[row])
                    rows[next++] = new RowOfAccount(account, row);
            }
        }
    }

    private int CountRows(int account)
    {
        if (_oneRow)
            return 1;
        Span<bool> has = stackalloc bool[_rows];
        FindRows(account, has);
        return has.Count(true);
    }

    private void FindRows(int account, Span<bool> has)
    {
        has.Clear();
        foreach (var load in _partition!.Loads(account))
            has[RowOf(marks[load])] = true;
    }

    private Range AddMarks(MarkList into, RowOfAccount row)
    {
        var start = into.Count;
        foreach (var load in _partition!.Loads(row.Account))
        {
            if (RowOf(marks[load]) == row.Row)
                into.Add(marks[load], start);
        }
        return start..into.Count;
    }

    private Range WriteHash(int account, int row, byte[] digits)
    {
        var start = row * AccountHash.RowDigits;
        AccountHash.Write(_partition!.Alias(account), _partition.Domain(account), digits.AsSpan(start, AccountHash.RowDigits));
        return start..(start + AccountHash.RowDigits);
    }

    private (ReadOnlyMemory<byte> Key, int StorageAccount) KeyOf(Cut cut, byte[] into)
    {
        if (cut.OfRanges)
        {
            Convert.TryToHexString([(byte)cut.Group], into, out var digits);
            return (into.AsMemory(0, digits), _placement.StorageAccountOfRange(cut.Group));
        }
        var domain = _domainOf[cut.Group];
        var (name, bucket) = (_partition!.DomainName(domain), cut.Group - _firstGroup[domain]);
        var account = _placement.StorageAccountOf(name.Span, bucket);
        return _firstGroup[domain + 1] - _firstGroup[domain] == 1 ? (name, account)
            : (into.AsMemory(0, LayoutPlacement.WritePartition(name.Span, bucket, into)), account);
    }

    private static int RowOf(int mark) => (mark - 1) / IAccountTable.MarksPerRow;

    private static void Grow<T>(ref T[] array, int length)
    {
        if (array.Length < length)
            array = new T[length];
    }

    private readonly record struct Cut(int First, int Count, int Group, bool OfRanges);

    private readonly record struct RowOfAccount(int Account, int Row);

    /// <summary>Its memory is reused once it is disposed.</summary>
    internal readonly record struct MergedTransaction(
        MergedTransactions Owner, Buffers Buffers, bool OfRanges, int StorageAccount, ReadOnlyMemory<byte> Partition, MarkedRows Rows)
        : IDisposable
    {
        public void Dispose() => Owner._pool.Add(Buffers);
    }

    internal sealed class Buffers
    {
        public RowMarks[] Rows { get; } = new RowMarks[IAccountTable.MaxTransactionEntities];
        public MarkList Marks { get; } = new();
        public byte[] Digits { get; } = new byte[IAccountTable.MaxTransactionEntities * AccountHash.RowDigits];
        public byte[] Key { get; } = new byte[MaxKeyBytes];
    }

    internal sealed class MarkList
    {
        private int[] _marks = new int[IAccountTable.MaxTransactionEntities];

        public int Count { get; private set; }

        public ReadOnlyMemory<int> Written => _marks.AsMemory(0, Count);

        public void Clear() => Count = 0;

        /// <summary>Inserts a mark among those of its row, from <paramref name="start"/>, in order and without duplicates.</summary>
        public void Add(int mark, int start)
        {
            var at = start;
            while (at < Count && _marks[at] < mark)
                at++;
            if (at < Count && _marks[at] == mark)
                return;
            if (Count == _marks.Length)
                Array.Resize(ref _marks, 2 * Count);
            Array.Copy(_marks, at, _marks, at + 1, Count - at);
            _marks[at] = mark;
            Count++;
        }
    }
}
