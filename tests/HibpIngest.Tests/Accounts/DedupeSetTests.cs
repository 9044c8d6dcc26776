using HibpIngest.Pipeline.Layouts;

namespace HibpIngest.Tests.Accounts;

public sealed class DedupeSetTests
{
    private const int Seed = 4711;

    [Fact]
    public void Add_returns_true_only_for_new_accounts()
    {
        var random = new Random(Seed);
        var set = new DedupeSet(long.MaxValue);
        var reference = new HashSet<string>();
        for (var i = 0; i < 300_000; i++)
        {
            var alias = $"a{random.Next(400)}";
            var domain = $"d{random.Next(400)}.com";
            Assert.Equal(reference.Add(alias + "@" + domain), Add(set, alias, domain));
        }
        Assert.Equal(reference.Count, set.Count);
        Assert.False(set.HasForgotten);
    }

    [Fact]
    public void Accounts_that_differ_only_in_where_the_alias_ends_are_distinct_and_the_longest_is_accepted()
    {
        var set = new DedupeSet(100);
        Assert.True(Add(set, "ab", "c.com"));
        Assert.True(Add(set, "a", "bc.com"));
        Assert.True(Add(set, "abc", ".com"));
        Assert.False(Add(set, "ab", "c.com"));
        Assert.True(Add(set, new string('a', 64), new string('b', 255)));
        Assert.False(Add(set, new string('a', 64), new string('b', 255)));
    }

    [Fact]
    public void A_growing_set_needs_at_most_24_bytes_per_account()
    {
        var set = new DedupeSet(long.MaxValue);
        var allocated = GC.GetAllocatedBytesForCurrentThread();
        for (var i = 0; i < 1_500_000; i++)
        {
            Add(set, (uint)i);
            if (i > 5_000 && set.MemoryBytes > 24 * set.Count)
                Assert.Fail($"{set.MemoryBytes} bytes for {set.Count} accounts");
        }
        Assert.Equal(1_500_000, set.Count);
        // It grows in place: everything ever allocated is still in use, except the outgrown page lists.
        allocated = GC.GetAllocatedBytesForCurrentThread() - allocated;
        Assert.InRange(allocated, set.MemoryBytes * 0.9, set.MemoryBytes * 1.02);
    }

    [Fact]
    public void A_set_grows_at_once_for_the_share_that_is_not_read_yet()
    {
        const int Accounts = 1_500_000;
        var set = new DedupeSet(long.MaxValue);
        var sizes = new HashSet<long>();
        for (var i = 0; i < Accounts; i++)
        {
            set.ReadShare = (double)i / Accounts;
            Assert.True(Add(set, (uint)i));
            if (set.ReadShare > 0.01)
                sizes.Add(set.MemoryBytes);
        }
        // A hundredfold growth from 1% on takes four steps of up to four times, instead of 23 of 1.22.
        Assert.InRange(sizes.Count, 1, 8);
        Assert.InRange(set.MemoryBytes, 0, 24L * Accounts);
        for (var i = 0; i < Accounts; i++)
            Assert.False(Add(set, (uint)i));
    }

    [Fact]
    public void A_set_never_grows_beyond_its_cap_for_accounts_that_do_not_come()
    {
        const int Cap = 400_000;
        var set = new DedupeSet(Cap) { ReadShare = 0.01 };
        for (var i = 0; i < Cap; i++)
            Assert.True(Add(set, (uint)i));
        Assert.InRange(set.MemoryBytes, 0, 24L * Cap);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(760)]
    [InlineData(5_000)]
    [InlineData(50_001)]
    public void Add_remembers_nothing_past_the_cap(int cap)
    {
        var set = new DedupeSet(cap);
        for (var i = 0; i < cap; i++)
            Assert.True(Add(set, (uint)i));
        Assert.False(set.HasForgotten);
        var memory = set.MemoryBytes;
        for (var i = 0; i < 100_000; i++)
            Assert.Equal(i >= cap, Add(set, (uint)i));
        Assert.True(set.HasForgotten);
        Assert.Equal(cap, set.Count);
        Assert.Equal(memory, set.MemoryBytes);
    }

    [Fact]
    public void Hashes_at_both_ends_of_the_table_are_found()
    {
        var set = new DedupeSet(long.MaxValue);
        var reference = new HashSet<UInt128>();
        var random = new Random(Seed);
        for (var i = 0; i < 4_000; i++)
        {
            // Crowds both ends of the table: up to a hundred hashes near each.
            var hash = (i % 3, i < 300) switch
            {
                (0, true) => (UInt128)(uint)i,
                (1, true) => UInt128.MaxValue - (uint)i,
                _ => new UInt128((ulong)random.NextInt64() << 1, (ulong)random.NextInt64()),
            };
            Assert.Equal(reference.Add(hash), set.Add(hash));
            Assert.False(set.Add(hash));
        }
        Assert.All(reference, hash => Assert.False(set.Add(hash)));
        Assert.Equal(reference.Count, set.Count);
    }

    [Fact]
    public void DefaultCap_follows_the_memory_limit()
    {
        Assert.Equal((17_895_697, 50_000_000), (DedupeSet.DefaultCap(1L << 30), DedupeSet.DefaultCap(1L << 40)));
        Assert.InRange(DedupeSet.DefaultCap(), 1, Math.Min(50_000_000, GC.GetGCMemoryInfo().TotalAvailableMemoryBytes * 2 / 5 / 24));
    }

    private static bool Add(DedupeSet set, string alias, string domain) =>
        set.Add(SeededAccountHash.Compute(Encoding.ASCII.GetBytes(alias), Encoding.ASCII.GetBytes(domain)));

    private static bool Add(DedupeSet set, uint number)
    {
        Span<byte> alias = stackalloc byte[4];
        System.Buffers.Binary.BinaryPrimitives.WriteUInt32LittleEndian(alias, number);
        return set.Add(SeededAccountHash.Compute(alias, "example.com"u8));
    }
}
