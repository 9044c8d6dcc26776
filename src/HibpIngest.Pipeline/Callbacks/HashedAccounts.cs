using System.Collections.Concurrent;

namespace HibpIngest.Pipeline.Callbacks;

/// <summary>A slice's accounts and their distinct hashes in ascending order, so that a bitmap is read from front to back. Pooled.</summary>
internal sealed class HashedAccounts : IDisposable
{
    // As many slices as a process handles concurrently under the host's queue settings; excess buffers are garbage-collected.
    private const int MaxPooled = 32;

    private static readonly ConcurrentBag<HashedAccounts> Pool = [];

    private readonly Sha1[] _hashes;
    private readonly int[] _accounts;
    private byte[] _found = [];

    private HashedAccounts(int capacity)
    {
        Accounts = new AccountBatch(capacity);
        (_hashes, _accounts) = (new Sha1[capacity], new int[capacity]);
    }

    public AccountBatch Accounts { get; }

    public int Count { get; private set; }

    public static HashedAccounts Rent(int capacity) =>
        Pool.TryTake(out var pooled) && pooled.Accounts.Capacity >= capacity ? pooled : new HashedAccounts(capacity);

    public void Dispose()
    {
        Accounts.Clear();
        Count = 0;
        if (Pool.Count < MaxPooled)
            Pool.Add(this);
    }

    public void Hash()
    {
        Span<byte> hash = stackalloc byte[CallList.HashBytes];
        for (var i = 0; i < Accounts.Count; i++)
        {
            AccountHash.Compute(Accounts.Alias(i), Accounts.Domain(i), hash);
            _hashes[i] = new Sha1(hash);
            _accounts[i] = i;
        }
        _hashes.AsSpan(0, Accounts.Count).Sort(_accounts.AsSpan(0, Accounts.Count), default(Order));
        // Past the dedupe cap, a slice may hold an account twice.
        Count = 0;
        for (var i = 0; i < Accounts.Count; i++)
        {
            if (Count > 0 && default(Order).Compare(_hashes[i], _hashes[Count - 1]) == 0)
                continue;
            (_hashes[Count], _accounts[Count]) = (_hashes[i], _accounts[i]);
            Count++;
        }
    }

    public int AccountOf(int hash) => _accounts[hash];

    public int PrefixOf(int hash) => _hashes[hash].Prefix;

    /// <returns>Valid until the next call.</returns>
    public ReadOnlySpan<byte> Find(PrefixBitmap watched, Func<int, bool>? filter)
    {
        if (_found.Length == 0)
            _found = new byte[Accounts.Capacity * CallList.HashBytes];
        var length = 0;
        for (var i = 0; i < Count; i++)
        {
            if (!watched.Contains(_hashes[i].Prefix) || (filter is not null && !filter(i)))
                continue;
            _hashes[i].Write(_found.AsSpan(length));
            length += CallList.HashBytes;
        }
        return _found.AsSpan(0, length);
    }

    private readonly struct Sha1(ReadOnlySpan<byte> bytes)
    {
        private readonly ulong _first = BinaryPrimitives.ReadUInt64BigEndian(bytes);
        private readonly ulong _second = BinaryPrimitives.ReadUInt64BigEndian(bytes[8..]);
        private readonly uint _third = BinaryPrimitives.ReadUInt32BigEndian(bytes[16..]);

        public int Prefix => (int)(_first >> 40);

        public int CompareWith(in Sha1 other) =>
            _first != other._first ? _first.CompareTo(other._first)
            : _second != other._second ? _second.CompareTo(other._second)
            : _third.CompareTo(other._third);

        public void Write(Span<byte> into)
        {
            BinaryPrimitives.WriteUInt64BigEndian(into, _first);
            BinaryPrimitives.WriteUInt64BigEndian(into[8..], _second);
            BinaryPrimitives.WriteUInt32BigEndian(into[16..], _third);
        }
    }

    /// <summary>A struct, so that sorting makes no interface calls.</summary>
    private readonly struct Order : IComparer<Sha1>
    {
        public int Compare(Sha1 x, Sha1 y) => x.CompareWith(y);
    }
}
