using HibpIngest.Journal.Segments;

namespace HibpIngest.Tests.Journal;

public sealed class SegmentTests(ITestOutputHelper output)
{
    [Theory]
    [InlineData(BlockCodec.None)]
    [InlineData(BlockCodec.Lz4)]
    [InlineData(BlockCodec.Brotli)]
    public async Task Rows_are_read_back_slice_by_slice_in_order(BlockCodec codec)
    {
        var seed = Random.Shared.Next();
        output.WriteLine($"seed {seed}");
        var random = new Random(seed);
        for (var round = 0; round < 60; round++)
        {
            var rows = SegmentSamples.Rows(random, random.Next(1, 600));
            var sliceRows = random.Next(1, 200);
            var first = random.NextInt64(1, 1L << 40);
            var (bytes, seal) = await SegmentSamples.WriteAsync(rows, sliceRows, codec, first);
            var segment = SegmentBytes.Open(SegmentSamples.Name, bytes);
            var found = Read(bytes);
            Assert.Equal(SegmentSamples.Expected(rows, sliceRows), found.Rows);
            Assert.Equal(segment.Index.BlockList, found.Blocks);

            var slices = (rows.Count + sliceRows - 1) / sliceRows;
            Assert.Equal(Enumerable.Range(SegmentSamples.FirstSlice, slices), found.Blocks.Select(block => block.Slice));
            Assert.Equal(Enumerable.Range(0, slices).Select(i => first + ((long)i * sliceRows)), found.Blocks.Select(block => block.First));
            Assert.Equal((bytes.Length, (long)rows.Count, slices), (seal.Length, seal.Rows, seal.Blocks));
            Assert.Equal(bytes[..seal.Header.Length], seal.Header.ToArray());
            Assert.Equal(bytes[^seal.Footer.Length..], seal.Footer.ToArray());
            Assert.Equal(SegmentSamples.Facts(first, first + rows.Count - 1, sliceRows), segment.Index.Facts);
            Assert.Equal(new SegmentVerification(rows.Count, slices, bytes.Length), segment.Verify());
        }
    }

    [Fact]
    public async Task Same_rows_in_any_order_within_a_slice_give_the_same_bytes()
    {
        var random = new Random(14);
        var rows = SegmentSamples.Rows(random, 900);
        var (bytes, _) = await SegmentSamples.WriteAsync(rows, 300);
        Assert.Equal(bytes, (await SegmentSamples.WriteAsync(rows, 300)).Bytes);
        var shuffled = rows.Chunk(300).SelectMany(slice =>
        {
            random.Shuffle(slice);
            return slice;
        }).ToList();
        Assert.NotEqual(rows, shuffled);
        Assert.Equal(bytes, (await SegmentSamples.WriteAsync(shuffled, 300)).Bytes);
    }

    [Fact]
    public async Task Writing_leaves_the_batch_unchanged()
    {
        var rows = SegmentSamples.Rows(new Random(15), 100);
        var batch = new AccountBatch(100);
        SegmentSamples.Fill(batch, 1, rows);
        using var writer = new SegmentWriter(Stream.Null, SegmentSamples.Facts(1, 100));
        await writer.AddAsync(1, batch, CancellationToken.None);
        Assert.Equal(
            rows, Enumerable.Range(0, 100).Select(
                i => (Encoding.ASCII.GetString(batch.Domain(i)), Encoding.ASCII.GetString(batch.Alias(i)))));
    }

    [Fact]
    public async Task Aliases_around_the_length_of_a_vector_are_read_back()
    {
        const string Letters = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
        int[] lengths = [1, 15, 31, 32, 33, 63, 64];
        var pairs =
            from one in lengths
            from other in lengths
            from shared in Enumerable.Range(0, Math.Min(one, other))
            select (One: Letters[..one], Other: Letters[..shared].PadRight(other, '~'));
        var rows = pairs.Index().SelectMany(pair => (string[])[pair.Item.One, pair.Item.Other], (pair, alias) =>
            ($"d{pair.Index:0000}.example", alias)).ToList();
        // In slices of two rows, each pair is at the end of a payload.
        foreach (var sliceRows in (int[])[2, rows.Count])
        {
            var (bytes, _) = await SegmentSamples.WriteAsync(rows, sliceRows, BlockCodec.None);
            Assert.Equal(SegmentSamples.Expected(rows, sliceRows), Read(bytes).Rows);
        }
    }

    [Fact]
    public async Task Longest_shortest_and_duplicate_rows_are_read_back()
    {
        List<(string, string)> rows =
        [
            (new string('~', 255), new string('!', 64)), (new string('~', 255), new string('!', 64)), ("a.bc", "x"), ("a.bc", "x"),
            ("a.bc", "x"), ("a.bc", new string('x', 15)), ("a.bc", new string('x', 30)), ("a.bc", new string('x', 14)),
            ("a.bc", new string('x', 63)), ("a.bc", new string('x', 64)),
        ];
        var (bytes, _) = await SegmentSamples.WriteAsync(rows, 10);
        Assert.Equal(SegmentSamples.Expected(rows, 10), Read(bytes).Rows);
    }

    [Fact]
    public async Task Longest_payload_is_within_the_reader_limit()
    {
        var rows = Enumerable.Range(0, 1_000).Select(
            i => ($"{i:D4}{new string((char)('a' + (i % 7)), 251)}", $"{i:D4}{new string((char)('a' + (i % 9)), 60)}")).ToList();
        var (bytes, _) = await SegmentSamples.WriteAsync(rows, 1_000);
        var block = Assert.Single(SegmentBytes.Open(SegmentSamples.Name, bytes).Index.BlockList);
        Assert.InRange(block.RawBytes, SegmentLimits.RawBytes(1_000) - 5, SegmentLimits.RawBytes(1_000));
    }

    [Fact]
    public async Task Footer_lists_domains_with_at_least_1000_rows_among_any_number_of_domains()
    {
        var random = new Random(16);
        // The more domains enlarge the writer's hash table of domain counts several times.
        foreach (var (sliceRows, others) in new[] { (97, 0), (10_000, 28_500) })
        {
            var rows = new[] { ("b.large", 1_000), ("a.larger", 2_345), ("c.small", 999), ("d.small", 1) }
                .SelectMany(domain => Enumerable.Range(0, domain.Item2).Select(i => (domain.Item1, $"n{i}")))
                .Concat(Enumerable.Range(0, others).Select(i => ($"{i}.example", "a"))).ToArray();
            random.Shuffle(rows);
            var (bytes, _) = await SegmentSamples.WriteAsync(rows, sliceRows);
            var segment = SegmentBytes.Open(SegmentSamples.Name, bytes);
            Assert.Equal([new LargeDomain("a.larger", 2_345), new LargeDomain("b.large", 1_000)], segment.Index.LargeDomains);
            segment.Verify();
        }
    }

    [Fact]
    public async Task Rows_out_of_sequence_are_refused()
    {
        var facts = SegmentSamples.Facts(101, 130, sliceRows: 10);
        using var writer = new SegmentWriter(Stream.Null, facts);
        var batch = new AccountBatch(50);
        await AssertRefusedAsync(
            3, 100, 10, "load 7: expected slice 3 from position 101, ending by position 130, found slice 3 with positions 100 to 109");
        await AssertRefusedAsync(3, 102, 10, "position 101");
        await AssertRefusedAsync(0, 101, 10, "slice 1 from position 101");
        await AssertRefusedAsync(3, 101, 11, "has 11 rows");
        await AssertRefusedAsync(3, 101, 0, "has 0 rows");
        await AssertRefusedAsync(3, 101, 31, "positions 101 to 131");
        await Add(3, 101, 10);
        await AssertRefusedAsync(3, 111, 10, "slice 4 from position 111");
        await AssertRefusedAsync(5, 111, 10, "slice 4 from position 111");
        await AssertRefusedAsync(4, 101, 10, "slice 4 from position 111");
        await Add(4, 111, 10);
        var e = await Assert.ThrowsAsync<BadInputException>(() => writer.SealAsync(CancellationToken.None));
        Assert.Contains("positions 101 to 120, expected all up to 130", e.Message, StringComparison.Ordinal);
        await Add(5, 121, 10);
        var seal = await writer.SealAsync(CancellationToken.None);
        Assert.Equal((30, 3), (seal.Rows, seal.Blocks));

        async Task Add(int slice, long first, int rows)
        {
            SegmentSamples.Fill(batch, first, SegmentSamples.Rows(new Random(17), rows));
            await writer.AddAsync(slice, batch, CancellationToken.None);
        }

        async Task AssertRefusedAsync(int slice, long first, int rows, string what)
        {
            var refused = await Assert.ThrowsAsync<BadInputException>(() => Add(slice, first, rows));
            Assert.Contains(what, refused.Message, StringComparison.Ordinal);
        }
    }

    [Theory]
    [InlineData("a.bc", "")]
    [InlineData("a.b", "x")]
    [InlineData("a.bc", "x y")]
    [InlineData("a.bc", "x\0")]
    [InlineData("a.b\u007F", "x")]
    public async Task Invalid_rows_are_refused_without_naming_them(string domain, string alias)
    {
        var e = await Assert.ThrowsAsync<BadInputException>(() => SegmentSamples.WriteAsync([(domain, alias)], 10));
        Assert.DoesNotContain("a.b", e.Message, StringComparison.Ordinal);
        await Assert.ThrowsAsync<BadInputException>(() => SegmentSamples.WriteAsync([("a.bc", new string('x', 65))], 10));
        await Assert.ThrowsAsync<BadInputException>(() => SegmentSamples.WriteAsync([(new string('x', 256), "x")], 10));
    }

    [Fact]
    public void Invalid_segment_facts_are_refused()
    {
        var facts = SegmentSamples.Facts(1, 10);
        SegmentFacts[] invalid =
        [
            facts with { Load = default }, facts with { Mark = 0 }, facts with { Generation = -1 }, facts with { BatchRows = 0 },
            facts with { SliceRows = 0 }, facts with { SliceRows = SegmentLimits.BlockRows + 1 }, facts with { First = 0 },
            facts with { First = 11 }, facts with { Last = SegmentLimits.Rows + 1 }, facts with { Breach = "\uD800" },
            facts with { Blob = new BlobVersion(new string('x', SegmentLimits.HeaderBytes), "\"1\"") },
        ];
        Assert.All(invalid, one => Assert.Throws<BadInputException>(() => new SegmentWriter(Stream.Null, one)));
        new SegmentWriter(Stream.Null, facts with { Blob = new BlobVersion(new string('x', 16_000), "") }).Dispose();
        Assert.Throws<ArgumentOutOfRangeException>(() => new SegmentWriter(Stream.Null, facts, (BlockCodec)3));
    }

    private static CollectVisitor Read(byte[] bytes)
    {
        var found = new CollectVisitor();
        SegmentBytes.Open(SegmentSamples.Name, bytes).Read(ref found);
        return found;
    }
}
