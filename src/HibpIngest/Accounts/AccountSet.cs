using System.IO.Hashing;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Security.Cryptography;

namespace HibpIngest.Accounts;

/// <summary>
/// Tells new accounts from those seen before, by 128-bit hashes, in at most 24 bytes an account from about five thousand on, growth included. Two accounts of
/// 50 million share a hash with a probability below 10^-23. The seed is random, so that nobody can prepare addresses that collide; only equality
/// is asked for, so it shows in no position. Not safe for use by several threads at once.
/// </summary>
/// <remarks>
/// One open-addressed table kept in the order of the hashes: an entry stands at or below its home slot, which is its hash scaled to the table, so that a search, going
/// down from there, ends at the first smaller one. The table is a list of pages; it grows by a fifth by adding pages and spreading the entries in place, so that
/// no second copy is ever held.
/// </remarks>
public sealed class AccountSet
{
    private const int PageBits = 10;
    private const int PageSlots = 1 << PageBits;
    private const int PageMask = PageSlots - 1;
    private const int SlotBytes = 16;
    private const int ArrayOverheadBytes = 24;

    // Slots below the first home slot, for entries pushed down past it. At a load of 0.85 an entry stands n slots from home with a probability near e^(-0.3 n).
    private const int OverflowSlots = 128;
    private const double MaxLoad = 0.85;
    private const double Growth = 1.2;
    private const long MostByDefault = 50_000_000;
    private const double MemoryShareByDefault = 0.4;
    private const int BytesPerAccount = 24;
    private const int MaxAccountBytes = AccountRules.MaxAliasLength + 1 + AccountRules.MaxDomainLength;

    private static readonly long Seed = BitConverter.ToInt64(RandomNumberGenerator.GetBytes(sizeof(long)));

    private readonly long _cap;
    private readonly byte[] _account = new byte[MaxAccountBytes];
    private Entry[][] _pages = [];
    private int _pageCount;
    private long _slots;
    private long _limit;

    /// <param name="cap">The most accounts it remembers; 0 remembers none.</param>
    public AccountSet(long cap)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(cap);
        _cap = cap;
    }

    /// <summary>Accounts it remembers.</summary>
    public long Count { get; private set; }

    /// <summary>Whether it remembers as many as it may; accounts new from here on are not remembered.</summary>
    public bool CapReached => Count >= _cap;

    /// <summary>Bytes it holds.</summary>
    public long MemoryBytes => _pageCount * (long)(PageSlots * SlotBytes + ArrayOverheadBytes) + _pages.Length * (long)IntPtr.Size;

    /// <summary>50 million, or what fits 40% of the process's memory limit, whichever is less.</summary>
    public static long DefaultCap() =>
        Math.Min(MostByDefault, (long)(GC.GetGCMemoryInfo().TotalAvailableMemoryBytes * MemoryShareByDefault) / BytesPerAccount);

    /// <summary>
    /// True when the account is new, and remembers it; past the cap true whenever it isn't remembered, and remembers nothing.
    /// </summary>
    /// <param name="alias">At most 64 bytes.</param>
    /// <param name="domain">At most 255 bytes.</param>
    public bool Add(ReadOnlySpan<byte> alias, ReadOnlySpan<byte> domain)
    {
        var account = _account.AsSpan();
        alias.CopyTo(account);
        account[alias.Length] = (byte)'@';
        domain.CopyTo(account[(alias.Length + 1)..]);
        return Add(XxHash128.HashToUInt128(account[..(alias.Length + 1 + domain.Length)], Seed));
    }

    /// <summary>Adds by hash.</summary>
    internal bool Add(UInt128 hash)
    {
        // An upper half of 0 marks an empty slot, so it counts as 1.
        var entry = new Entry(Math.Max((ulong)(hash >> 64), 1), (ulong)hash);
        if (_slots == 0)
        {
            if (CapReached)
                return true;
            Grow();
        }

        while (true)
        {
            var slot = Home(entry);
            while (slot >= 0 && At(slot).Upper > entry.Upper)
                slot--;
            for (var equal = slot; equal >= 0 && At(equal).Upper == entry.Upper; equal--)
            {
                if (At(equal).Lower == entry.Lower)
                    return false;
            }
            if (CapReached)
                return true;
            if (Count < _limit && Insert(slot, entry))
            {
                Count++;
                return true;
            }
            Grow();
        }
    }

    // Without the bounds check, which would read the array's length, a cache line of its own, on every probe. Slots are below _slots, whose pages all exist.
    private ref Entry At(long slot) =>
        ref Unsafe.Add(ref MemoryMarshal.GetArrayDataReference(_pages[(int)(slot >> PageBits)]), (nint)(slot & PageMask));

    private long Home(Entry entry) => OverflowSlots + (long)Math.BigMul(entry.Upper, (ulong)(_slots - OverflowSlots), out _);

    /// <summary>Puts the entry into the slot, moving those from there down to the next empty one by one; false, and nothing done, when there is none.</summary>
    private bool Insert(long slot, Entry entry)
    {
        var empty = slot;
        while (empty >= 0 && At(empty).Upper != 0)
            empty--;
        if (empty < 0)
            return false;
        for (; empty < slot; empty++)
            At(empty) = At(empty + 1);
        At(slot) = entry;
        return true;
    }

    private void Grow()
    {
        var oldSlots = _slots;
        // Room for the cap is all that is ever needed.
        var most = (int)Math.Min((long)(_cap / MaxLoad + OverflowSlots) / PageSlots + 1, int.MaxValue);
        var wanted = Math.Max(_pageCount + 1, Math.Min((int)(_pageCount * Growth), most));
        if (wanted > _pages.Length)
            Array.Resize(ref _pages, Math.Max(wanted, (int)(_pages.Length * Growth)));
        // Pages live as long as the set: pinned ones are not copied from generation to generation.
        for (; _pageCount < wanted; _pageCount++)
            _pages[_pageCount] = GC.AllocateArray<Entry>(PageSlots, pinned: true);
        _slots = (long)_pageCount << PageBits;
        _limit = (long)((_slots - OverflowSlots) * MaxLoad);

        // From the last entry down, each to its new home or below the one placed before it. That is never below where it was: its home only moved up, and so did
        // all above it. So nothing is overwritten.
        var free = _slots - 1;
        for (var slot = oldSlots - 1; slot >= 0; slot--)
        {
            ref var old = ref At(slot);
            var entry = old;
            if (entry.Upper == 0)
                continue;
            old = default;
            var target = Math.Min(Home(entry), free);
            At(target) = entry;
            free = target - 1;
        }
    }

    private readonly record struct Entry(ulong Upper, ulong Lower);
}
