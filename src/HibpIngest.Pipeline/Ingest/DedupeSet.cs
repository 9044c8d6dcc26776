using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics;

namespace HibpIngest.Pipeline.Ingest;

/// <summary>
/// A set of accounts, kept as 128-bit hashes (<see cref="SeededAccountHash"/>) in at most 24 bytes for each account of the cap, growth
/// included. Hashes are only compared for equality, so their seed doesn't affect positions. Not thread-safe.
/// </summary>
/// <remarks>
/// An open-addressed table in groups of 16 slots. Each slot has a tag of one byte stored apart from its hash. One comparison of 16 tags
/// nearly always shows that an account is new, and costs one cache line in a set larger than the cache. An entry is in its home group
/// (its hash scaled to the table), or, if that is full, in the next lower one with room. The table is a list of pages. It grows by a fifth
/// by adding pages and redistributing the entries in place, so that there is never a second copy; or by up to four times, as estimated
/// from <see cref="ReadShare"/>: growing by a fifth each time moves each entry five times in all.
/// </remarks>
internal sealed class DedupeSet
{
    private const int GroupSlots = 16; // one Vector128 of tags
    private const int PageGroupBits = 6;
    private const int PageGroups = 1 << PageGroupBits;
    private const int PageSlots = PageGroups * GroupSlots;
    private const int SlotBytes = 16 + 1;
    private const int ArrayOverheadBytes = 24;

    // Groups below the first home group, for entries whose groups are full. At the maximum load a run of this many full groups is
    // practically impossible.
    private const int OverflowGroups = 8;
    private const double MaxLoad = 0.875;
    private const double Growth = 1.22;
    private const double MaxGrowth = 4;

    // The first texts of an archive say little about the rest.
    private const double MinReadShare = 0.01;

    private const long MaxByDefault = 50_000_000;
    private const double MemoryShareByDefault = 0.4;
    private const double MaxMemoryShare = 0.75;
    private const int BytesPerAccount = 24;

    // Accounts per chunk: enough to keep every memory channel busy, few enough to be still in the cache when they are used.
    private const int ChunkSize = 64;

    private readonly long _cap;
    private Page[] _pages = [];
    private int _pageCount;
    private int _groups;
    private long _limit;
    private byte _touched; // never read: keeps the reads from being optimised away

    /// <param name="cap">Maximum number of accounts remembered. 0 remembers none.</param>
    public DedupeSet(long cap)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(cap);
        _cap = cap;
    }

    public long Count { get; private set; }

    /// <summary>
    /// Share of the file that was read, 0 to 1; 0 if unknown. A full table grows by 1 / ReadShare, at least by a fifth, at most fourfold,
    /// and never beyond the cap.
    /// </summary>
    public double ReadShare { get; set; }

    /// <summary>True if the cap was reached and an account after that is not remembered: it may appear again as a new one.</summary>
    public bool HasForgotten { get; private set; }

    public long MemoryBytes => _pageCount * (long)((PageSlots * SlotBytes) + (2 * ArrayOverheadBytes)) + (_pages.Length * 2L * IntPtr.Size);

    /// <summary>Returns how many accounts fit into the process's memory limit, with a quarter of it left for everything else.</summary>
    public static long MaxThatFit() => (long)(GC.GetGCMemoryInfo().TotalAvailableMemoryBytes * MaxMemoryShare) / BytesPerAccount;

    public static long DefaultCap() => DefaultCap(GC.GetGCMemoryInfo().TotalAvailableMemoryBytes);

    public static long DefaultCap(long memoryBytes) => Math.Min(MaxByDefault, (long)(memoryBytes * MemoryShareByDefault) / BytesPerAccount);

    /// <summary>Once the cap is reached, nothing is added, so that an account that isn't in the set is new each time.</summary>
    public void Add(AccountBatch accounts, Span<bool> isNew)
    {
        Span<UInt128> hashes = stackalloc UInt128[ChunkSize];
        for (var first = 0; first < accounts.Count; first += ChunkSize)
        {
            var count = Math.Min(ChunkSize, accounts.Count - first);
            for (var i = 0; i < count; i++)
                hashes[i] = SeededAccountHash.Compute(accounts.Account(first + i, out var aliasLength), aliasLength);
            // A large set doesn't fit into the cache: touching many slots first lets the processor wait for them together.
            Touch(hashes[..count]);
            for (var i = 0; i < count; i++)
                isNew[first + i] = Add(hashes[i]);
        }
    }

    internal bool Add(UInt128 hash)
    {
        if (_groups == 0)
        {
            if (_cap == 0)
                return Forget();
            Grow();
        }

        var tag = Tag(hash);
        while (true)
        {
            var group = Home(hash);
            int empty;
            while (true)
            {
                ref var tags = ref Tags(group);
                var there = Vector128.LoadUnsafe(ref tags);
                for (var matches = Vector128.Equals(there, Vector128.Create(tag))
                    .ExtractMostSignificantBits(); matches != 0; matches &= matches - 1)
                {
                    if (Entry(group, BitOperations.TrailingZeroCount(matches)) == hash)
                        return false;
                }
                empty = BitOperations.TrailingZeroCount(~there.ExtractMostSignificantBits());
                if (empty < GroupSlots || --group < 0)
                    break;
            }
            if (Count >= _cap)
                return Forget();
            if (group >= 0 && Count < _limit)
            {
                Unsafe.Add(ref Tags(group), empty) = tag;
                Entry(group, empty) = hash;
                Count++;
                return true;
            }
            Grow();
        }
    }

    private bool Forget() => HasForgotten = true;

    private void Touch(ReadOnlySpan<UInt128> hashes)
    {
        if (_groups == 0)
            return;
        byte seen = 0;
        foreach (var hash in hashes)
            seen ^= Tags(Home(hash));
        _touched = seen;
    }

    // No bounds checks: they would read the arrays' lengths, which are in cache lines of their own, on every probe. Groups are below
    // _groups, whose pages all exist.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private ref byte Tags(int group) =>
        ref Unsafe.Add(
            ref MemoryMarshal.GetArrayDataReference(_pages[group >> PageGroupBits].Tags), (nint)(group & (PageGroups - 1)) * GroupSlots);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private ref UInt128 Entry(int group, int slot) =>
        ref Unsafe.Add(
            ref MemoryMarshal.GetArrayDataReference(_pages[group >> PageGroupBits].Entries), (nint)(
                ((group & (PageGroups - 1)) * GroupSlots) + slot));

    // The top bit marks the slot as taken. The home comes from the hash's upper half, the tag from its lower half.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static byte Tag(UInt128 hash) => (byte)(0x80 | ((ulong)hash & 0x7F));

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private int Home(UInt128 hash) => OverflowGroups + (int)Math.BigMul((ulong)(hash >> 64), (ulong)(_groups - OverflowGroups), out _);

    private void Grow()
    {
        var oldGroups = _groups;
        // Never more than the cap needs.
        var max = (int)Math.Min((long)((_cap / MaxLoad) + (OverflowGroups * GroupSlots)) / PageSlots + 1, int.MaxValue / PageGroups);
        var growth = ReadShare >= MinReadShare ? Math.Clamp(1 / ReadShare, Growth, MaxGrowth) : Growth;
        var wanted = Math.Max(_pageCount + 1, (int)Math.Min(_pageCount * growth, max));
        if (wanted > _pages.Length)
            Array.Resize(ref _pages, Math.Max(wanted, (int)(_pages.Length * Growth)));
        // Pages live as long as the set; pinned arrays are not copied from generation to generation.
        for (; _pageCount < wanted; _pageCount++)
            _pages[_pageCount] = new Page(
                GC.AllocateArray<byte>(PageSlots, pinned: true), GC.AllocateUninitializedArray<UInt128>(PageSlots, pinned: true));
        _groups = _pageCount * PageGroups;
        _limit = (long)((_groups - OverflowGroups) * (long)GroupSlots * MaxLoad);

        // Groups are emptied from the last down, and their entries placed again. Homes only move up, so each entry finds room between its
        // new home and the group it comes from: the entries whose new homes lie there were all there before. (Hall's condition, for every
        // such range.)
        Span<UInt128> moving = stackalloc UInt128[GroupSlots];
        for (var group = oldGroups - 1; group >= 0; group--)
        {
            var taken = Vector128.LoadUnsafe(ref Tags(group)).ExtractMostSignificantBits();
            var count = BitOperations.TrailingZeroCount(~taken); // filled from the first slot on
            for (var i = 0; i < count; i++)
                moving[i] = Entry(group, i);
            Vector128<byte>.Zero.StoreUnsafe(ref Tags(group));
            for (var i = 0; i < count; i++)
                Place(moving[i]);
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private void Place(UInt128 hash)
    {
        var group = Home(hash);
        int empty;
        while ((empty = BitOperations.TrailingZeroCount(~Vector128.LoadUnsafe(ref Tags(group)).ExtractMostSignificantBits())) >= GroupSlots)
            group--;
        Unsafe.Add(ref Tags(group), empty) = Tag(hash);
        Entry(group, empty) = hash;
    }

    private readonly record struct Page(byte[] Tags, UInt128[] Entries);
}
