using System.Numerics;

namespace HibpIngest.Journal.Merge;

/// <summary>The accounts of one partition of a merge, each once, with its loads. The buffers are reused for the next partition.</summary>
public sealed class MergedPartition
{
    private const int Nothing = -1;

    // Rows added at a time: enough to keep every memory channel busy, few enough to be still in the cache when they are added.
    private const int ChunkRows = 64;

    private readonly MergePlan _plan;

    private byte[] _bytes = [];
    private int[] _table = [];
    private uint _mask;

    // Per domain: offset of its text; and the hash table that finds it.
    private int[] _names = new int[1 << 10];
    private int[] _nameTable = new int[1 << 11];

    // Per account: offset of its alias, number of its domain, head of its list of loads.
    private int[] _aliases = [];
    private int[] _domains = [];
    private int[] _loads = [];

    // Per list entry: the load and the next entry.
    private int[] _load = [];
    private int[] _next = [];
    private int _links;
    private int _touched; // never read: keeps the reads from being optimised away

    internal MergedPartition(MergePlan plan) => _plan = plan;

    /// <summary>Number of the partition, counted from 0.</summary>
    public int Number { get; private set; }

    public int Count { get; private set; }

    /// <summary>True if a domain is so large that its accounts are in several partitions.</summary>
    public bool IsSpread(ReadOnlySpan<byte> domain) => _plan.PartitionOf(domain) < 0;

    public int Domains { get; private set; }

    public ReadOnlySpan<byte> Alias(int account) => Text(_aliases[account]);

    public ReadOnlySpan<byte> Domain(int account) => DomainName(_domains[account]).Span;

    /// <summary>Returns the number of an account's domain, from 0.</summary>
    public int DomainOf(int account) => _domains[account];

    public ReadOnlyMemory<byte> DomainName(int domain) => _bytes.AsMemory(_names[domain] + 1, _bytes[_names[domain]]);

    /// <summary>The buffer that <see cref="AliasRange"/> refers to.</summary>
    public ReadOnlyMemory<byte> Memory => _bytes;

    /// <summary>Returns the range of an account's alias in <see cref="Memory"/>.</summary>
    public Range AliasRange(int account) => (_aliases[account] + 1)..(_aliases[account] + 1 + _bytes[_aliases[account]]);

    /// <summary>Returns the loads of an account, each once, by their numbers in the merge; the last one read comes first.</summary>
    public LoadNumbers Loads(int account) => new(this, _loads[account]);

    internal void Fill(int number, SpillFile file)
    {
        Number = number;
        var length = checked((int)file.Length);
        Grow(ref _bytes, length);
        file.Read(_bytes);
        var rows = file.Rows;
        Grow(ref _aliases, rows);
        Grow(ref _domains, rows);
        Grow(ref _loads, rows);
        Grow(ref _load, rows);
        Grow(ref _next, rows);
        var slots = (int)BitOperations.RoundUpToPowerOf2((uint)Math.Max(2 * rows, 16));
        Grow(ref _table, slots);
        _table.AsSpan(0, slots).Fill(Nothing);
        _mask = (uint)(slots - 1);
        _nameTable.AsSpan().Fill(Nothing);
        (Count, Domains, _links) = (0, 0, 0);

        Span<Row> chunk = stackalloc Row[ChunkRows];
        var (load, domain, seed, pending) = (0, 0, 0L, 0);
        for (var at = 0; at < length;)
        {
            if (_bytes[at] == 0)
            {
                load = BinaryPrimitives.ReadInt32LittleEndian(_bytes.AsSpan(at + 1));
                var name = at + 5;
                var hash = XxHash3.HashToUInt64(Text(name));
                (domain, seed) = (NumberOf(name, hash), (long)hash);
                at = name + 1 + _bytes[name];
                continue;
            }
            chunk[pending++] = new Row(at, domain, load, (uint)XxHash3.HashToUInt64(Text(at), seed) & _mask);
            at += 1 + _bytes[at];
            if (pending == ChunkRows)
            {
                Add(chunk);
                pending = 0;
            }
        }
        Add(chunk[..pending]);
    }

    /// <summary>The hash table doesn't fit into the cache: touching many slots first lets the processor wait for them together.</summary>
    private void Add(ReadOnlySpan<Row> rows)
    {
        var touched = 0;
        foreach (ref readonly var row in rows)
            touched ^= _table[row.Slot];
        _touched = touched;
        foreach (ref readonly var row in rows)
            Add(row);
    }

    private void Add(in Row row)
    {
        var (alias, domain, load) = (row.Alias, row.Domain, row.Load);
        for (var slot = row.Slot; ; slot = (slot + 1) & _mask)
        {
            var account = _table[slot];
            if (account == Nothing)
            {
                account = _table[slot] = Count++;
                (_aliases[account], _domains[account], _loads[account]) = (alias, domain, Nothing);
            }
            else if (_domains[account] != domain || !Text(_aliases[account]).SequenceEqual(Text(alias)))
                continue;
            // A load's rows are adjacent: if the account already has this load, it is the head of the list.
            if (_loads[account] is var first && first != Nothing && _load[first] == load)
                return;
            (_load[_links], _next[_links]) = (load, first);
            _loads[account] = _links++;
            return;
        }
    }

    private int NumberOf(int name, ulong hash)
    {
        if (2 * Domains >= _nameTable.Length)
            GrowNames();
        var slot = FindName(name, hash);
        if (_nameTable[slot] == Nothing)
        {
            _nameTable[slot] = Domains;
            _names[Domains++] = name;
        }
        return _nameTable[slot];
    }

    private int FindName(int name, ulong hash)
    {
        var mask = _nameTable.Length - 1;
        var slot = (int)hash & mask;
        while (_nameTable[slot] is var found && found != Nothing && !Text(_names[found]).SequenceEqual(Text(name)))
            slot = (slot + 1) & mask;
        return slot;
    }

    private void GrowNames()
    {
        _nameTable = new int[2 * _nameTable.Length];
        _nameTable.AsSpan().Fill(Nothing);
        Array.Resize(ref _names, _nameTable.Length / 2);
        for (var domain = 0; domain < Domains; domain++)
            _nameTable[FindName(_names[domain], XxHash3.HashToUInt64(Text(_names[domain])))] = domain;
    }

    private ReadOnlySpan<byte> Text(int at) => _bytes.AsSpan(at + 1, _bytes[at]);

    private static void Grow<T>(ref T[] array, int length)
    {
        if (array.Length < length)
            array = new T[length];
    }

    /// <param name="Alias">Offset of its text.</param>
    private readonly record struct Row(int Alias, int Domain, int Load, uint Slot);

    public ref struct LoadNumbers
    {
        private readonly MergedPartition _partition;
        private int _at;

        internal LoadNumbers(MergedPartition partition, int first) => (_partition, _at, Current) = (partition, first, Nothing);

        /// <summary>The load's number in the merge, from 0.</summary>
        public int Current { get; private set; }

        public readonly LoadNumbers GetEnumerator() => this;

        public bool MoveNext()
        {
            if (_at == Nothing)
                return false;
            (Current, _at) = (_partition._load[_at], _partition._next[_at]);
            return true;
        }
    }
}
