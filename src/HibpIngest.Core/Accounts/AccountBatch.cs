using System.Runtime.CompilerServices;

namespace HibpIngest.Accounts;

/// <summary>
/// Up to <see cref="Capacity"/> accounts in order, stored in one buffer that is reused from batch to batch. Account <c>i</c> (0-based) has
/// position <see cref="FirstPosition"/> + i. Not thread-safe.
/// </summary>
public sealed class AccountBatch
{
    private const int TypicalAccountBytes = 32;

    private readonly int[] _ends;
    private readonly byte[] _aliasLengths;
    private byte[] _bytes;
    private int _used;

    public AccountBatch(int capacity)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(capacity, 1);
        Capacity = capacity;
        _ends = new int[capacity];
        _aliasLengths = new byte[capacity];
        _bytes = new byte[capacity * TypicalAccountBytes];
    }

    public int Capacity { get; }
    public int Count { get; private set; }
    public bool IsFull => Count == Capacity;

    /// <summary>1-based position of account 0 in its load.</summary>
    public long FirstPosition { get; set; }

    /// <summary>Position of the last account; FirstPosition - 1 if the batch is empty.</summary>
    public long LastPosition => FirstPosition + Count - 1;
    public int Bytes => _used;

    /// <summary>Adds an account: lower-case ASCII, alias 1-64 bytes, domain 4-255 bytes.</summary>
    /// <exception cref="InvalidOperationException">The batch is full.</exception>
    public void Add(ReadOnlySpan<byte> alias, ReadOnlySpan<byte> domain)
    {
        var place = Reserve(alias.Length + domain.Length, alias.Length);
        alias.CopyTo(place);
        domain.CopyTo(place[alias.Length..]);
    }

    /// <summary>Adds an account, given as alias and domain without a separator.</summary>
    /// <exception cref="InvalidOperationException">The batch is full.</exception>
    public void Add(ReadOnlySpan<byte> account, int aliasLength) => account.CopyTo(Reserve(account.Length, aliasLength));

    /// <exception cref="InvalidOperationException">The batch is full.</exception>
    public void Add(AccountBatch from, int index) => Add(from.Account(index, out var aliasLength), aliasLength);

    /// <summary>Returns alias and domain of account <paramref name="index"/>, concatenated without a separator.</summary>
    public ReadOnlySpan<byte> Account(int index, out int aliasLength)
    {
        var start = Start(index);
        aliasLength = _aliasLengths[index];
        return _bytes.AsSpan(start, _ends[index] - start);
    }

    /// <summary>Returns the part before the @ of account <paramref name="index"/>, lower-case ASCII.</summary>
    public ReadOnlySpan<byte> Alias(int index) => _bytes.AsSpan(Start(index), _aliasLengths[index]);

    /// <summary>Returns the part after the @ of account <paramref name="index"/>, lower-case ASCII.</summary>
    public ReadOnlySpan<byte> Domain(int index)
    {
        var start = Start(index) + _aliasLengths[index];
        return _bytes.AsSpan(start, _ends[index] - start);
    }

    /// <summary>Returns account <paramref name="index"/> as strings, for paths that may allocate.</summary>
    public Account ToAccount(int index) =>
        new(Encoding.ASCII.GetString(Alias(index)), Encoding.ASCII.GetString(Domain(index)));

    /// <summary>The underlying bytes, for <see cref="AliasRange"/>. Valid until the next account is added.</summary>
    public ReadOnlyMemory<byte> Memory => _bytes.AsMemory(0, _used);

    /// <summary>Returns the range of the alias of account <paramref name="index"/> in <see cref="Memory"/>.</summary>
    public Range AliasRange(int index)
    {
        var start = Start(index);
        return start..(start + _aliasLengths[index]);
    }

    /// <summary>Returns the domain of account <paramref name="index"/> as memory. Valid until the next account is added.</summary>
    public ReadOnlyMemory<byte> DomainMemory(int index)
    {
        var start = Start(index) + _aliasLengths[index];
        return _bytes.AsMemory(start, _ends[index] - start);
    }

    /// <summary>Removes all accounts and keeps the buffers.</summary>
    public void Clear()
    {
        Count = 0;
        _used = 0;
        FirstPosition = 0;
    }

    private Span<byte> Reserve(int length, int aliasLength)
    {
        if (IsFull)
            throw new InvalidOperationException($"the batch is full ({Capacity} accounts)");
        var needed = _used + length;
        if (needed > _bytes.Length)
            Array.Resize(ref _bytes, Math.Max(needed, _bytes.Length * 2));
        var place = _bytes.AsSpan(_used, length);
        _used = needed;
        _aliasLengths[Count] = checked((byte)aliasLength);
        _ends[Count] = needed;
        Count++;
        return place;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private int Start(int index)
    {
        if ((uint)index >= (uint)Count)
            throw new ArgumentOutOfRangeException(nameof(index));
        return index == 0 ? 0 : _ends[index - 1];
    }
}
