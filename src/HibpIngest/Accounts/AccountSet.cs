using System.Diagnostics;
using System.IO.Hashing;
using System.Security.Cryptography;

namespace HibpIngest.Accounts;

/// <summary>
/// Tells new accounts from those seen before, by 128-bit hashes, in at most 24 bytes an account from about five thousand on, growth included. Two accounts of
/// 50 million share a hash with a probability below 10^-23. The seed is random, so that nobody can prepare addresses that collide; only equality
/// is asked for, so it shows in no position. Not safe for use by several threads at once.
/// </summary>
/// <remarks>
/// One open-addressed table kept in the order of the hashes: an entry stands at or after its home slot, which is the hash scaled to the table, so that a search
/// ends at the first larger entry. The table is a list of pages; it grows by a fifth by adding pages and spreading the entries in place, so that no second copy is
/// ever held.
/// </remarks>
public sealed class AccountSet
{
    private const int PageBits = 10;
    private const int PageSlots = 1 << PageBits;
    private const int PageMask = PageSlots - 1;
    private const int SlotBytes = 16;
    private const int ArrayOverheadBytes = 24;

    // Slots past the last home slot, for entries pushed over the end. At a load of 0.85 an entry stands n slots from home with a probability near e^(-0.3 n).
    private const int OverflowSlots = 128;
    private const double MaxLoad = 0.85;
    private const double Growth = 1.2;
    private const long MostByDefault = 50_000_000;
    private const double MemoryShareByDefault = 0.4;
    private const int BytesPerAccount = 24;
    private const int MaxAccountBytes = AccountRules.MaxAliasLength + 1 + AccountRules.MaxDomainLength;

    private static readonly long Seed = BitConverter.ToInt64(RandomNumberGenerator.GetBytes(sizeof(long)));

    private readonly long _cap;
    private UInt128[][] _pages = [];
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
        Span<byte> account = stackalloc byte[MaxAccountBytes];
        alias.CopyTo(account);
        account[alias.Length] = (byte)'@';
        domain.CopyTo(account[(alias.Length + 1)..]);
        return Add(XxHash128.HashToUInt128(account[..(alias.Length + 1 + domain.Length)], Seed));
    }

    /// <summary>Adds by hash; 0 stands for an empty slot, so it counts as 1.</summary>
    internal bool Add(UInt128 hash)
    {
        if (hash == UInt128.Zero)
            hash = UInt128.One;
        if (_slots == 0)
        {
            if (CapReached)
                return true;
            Grow();
        }

        while (true)
        {
            var slot = Home(hash);
            UInt128 entry;
            while ((entry = this[slot]) < hash && entry != UInt128.Zero)
            {
                if (++slot == _slots)
                    break;
            }
            if (slot < _slots && entry == hash)
                return false;
            if (CapReached)
                return true;
            if (Count < _limit && Insert(slot, hash))
            {
                Count++;
                return true;
            }
            Grow();
        }
    }

    private ref UInt128 this[long slot] => ref _pages[(int)(slot >> PageBits)][(int)(slot & PageMask)];

    private long Home(UInt128 hash) => (long)Math.BigMul((ulong)(hash >> 64), (ulong)(_slots - OverflowSlots), out _);

    /// <summary>Puts the hash into the slot and moves those after it up to the next empty one by one; false, and nothing done, when there is none.</summary>
    private bool Insert(long slot, UInt128 hash)
    {
        var empty = slot;
        while (empty < _slots && this[empty] != UInt128.Zero)
            empty++;
        if (empty >= _slots)
            return false;
        while (empty > slot)
        {
            var page = _pages[(int)(empty >> PageBits)];
            var to = (int)(empty & PageMask);
            if (to == 0)
            {
                page[0] = this[empty - 1];
                empty--;
                continue;
            }
            var moved = (int)Math.Min(empty - slot, to);
            Array.Copy(page, to - moved, page, to - moved + 1, moved);
            empty -= moved;
        }
        this[slot] = hash;
        return true;
    }

    private void Grow()
    {
        var old = _slots;
        var wanted = Math.Max(_pageCount + 1, (int)(_pageCount * Growth));
        // Room for the cap is all that is ever needed.
        var most = (int)Math.Min((long)(_cap / MaxLoad + OverflowSlots) / PageSlots + 1, int.MaxValue);
        wanted = Math.Max(_pageCount + 1, Math.Min(wanted, most));
        if (wanted > _pages.Length)
            Array.Resize(ref _pages, Math.Max(wanted, (int)(_pages.Length * Growth)));
        for (; _pageCount < wanted; _pageCount++)
            _pages[_pageCount] = GC.AllocateArray<UInt128>(PageSlots, pinned: true); // pages live long: they shall not be copied from generation to generation
        _slots = (long)_pageCount << PageBits;
        _limit = (long)((_slots - OverflowSlots) * MaxLoad);

        // Packed against the end, smallest first, then dealt out from the front: an entry's new slot is never past its packed one, so nothing is overwritten.
        var packed = _slots;
        for (var slot = old - 1; slot >= 0; slot--)
        {
            ref var entry = ref this[slot];
            if (entry == UInt128.Zero)
                continue;
            var moving = entry;
            entry = UInt128.Zero;
            this[--packed] = moving;
        }
        long free = 0;
        for (; packed < _slots; packed++)
        {
            var moving = this[packed];
            this[packed] = UInt128.Zero;
            var slot = Math.Max(Home(moving), free);
            if (slot > packed)
                throw new UnreachableException("more entries than overflow slots at the end of the table"); // probability below e^-80, see OverflowSlots
            this[slot] = moving;
            free = slot + 1;
        }
    }
}
