using System.Buffers.Binary;
using HibpIngest.Journal.Segments;

namespace HibpIngest.Tests.Journal;

/// <summary>
/// Tests ten thousand damaged segments: each is refused with the place of the damage, and none makes the reader
/// allocate more than a block. Two of three forged lengths come with every checksum corrected.
/// </summary>
public sealed class SegmentDamageTests(ITestOutputHelper output)
{
    private const int Times = 10_000;

    /// <summary>Numbers of eight bytes, and of four if the others are cut off.</summary>
    private static readonly long[] Extremes =
        [long.MaxValue, long.MinValue, int.MaxValue, int.MinValue, -1, 0, 1 << 30, SegmentLimits.RawBytes(SegmentLimits.BlockRows)];

    /// <summary>A block with as many rows as the header allows.</summary>
    private static readonly int MaxAllocated = SegmentLimits.RawBytes(SegmentSamples.Facts(1, 1).SliceRows);

    [Fact]
    public async Task Damaged_segment_is_refused_with_the_place_of_the_damage()
    {
        var seed = Random.Shared.Next();
        output.WriteLine($"seed {seed}");
        var random = new Random(seed);
        var segments = new List<Sealed>();
        foreach (var codec in new[] { BlockCodec.None, BlockCodec.Lz4, BlockCodec.Brotli })
        {
            for (var i = 0; i < 4; i++)
            {
                var rows = SegmentSamples.Rows(random, random.Next(40, 200));
                if (i == 0)
                    rows.AddRange(Enumerable.Range(0, 1_200).Select(one => ("large.example", $"n{one % 900}")));
                var facts = SegmentSamples.Facts(1_001, 1_000 + rows.Count);
                segments.Add(await SealAsync(rows, Math.Max(rows.Count / random.Next(2, 9), 1), codec, facts));
            }
        }
        var damages = new (string Name, Func<Sealed, Random, Damaged?> Make)[]
        {
            ("cut off", CutOff), ("a bit flipped", Flip), ("overwritten", Overwrite), ("bytes added", Add), ("blocks swapped", SwapBlocks),
            ("a block of another segment", (segment, one) => Transplant(segment, segments[one.Next(segments.Count)], one)),
            ("another's header", (segment, one) => OthersHeader(segment, segments[one.Next(segments.Count)], one)),
            ("forged header", ForgeHeader), ("forged frame", ForgeFrame), ("forged index", ForgeIndex), ("forged tail", ForgeTail),
            ("forged large domain", ForgeLargeDomain), ("forged payload", (segment, one) => ForgePayload(segment, one)),
        };
        var counts = new Dictionary<string, int>();
        for (var done = 0; done < Times;)
        {
            var segment = segments[random.Next(segments.Count)];
            var (name, make) = damages[random.Next(damages.Length)];
            if (make(segment, random) is not { } damaged || damaged.Bytes.AsSpan().SequenceEqual(segment.Bytes))
                continue;
            var allocated = GC.GetAllocatedBytesForCurrentThread();
            var refused = Refusal(damaged.Bytes);
            allocated = GC.GetAllocatedBytesForCurrentThread() - allocated;
            Assert.True(refused is not null, $"{name}, number {done}: the damage was not detected");
            Assert.Equal(SegmentSamples.Name, refused.Segment);
            Assert.InRange(refused.Offset, 0, damaged.Bytes.Length);
            Assert.True(
                damaged.Block is not { } block || (refused.Block == block && refused.Offset == segment.Index.Blocks[block].Offset),
                $"{name}, number {done}: {refused.Message}");
            Assert.True(!damaged.OutsideBlocks || refused.Block is null, $"{name}, number {done}: {refused.Message}");
            Assert.True(allocated <= MaxAllocated, $"{name}, number {done}: {allocated} bytes allocated");
            counts[name] = counts.GetValueOrDefault(name) + 1;
            done++;
        }
        output.WriteLine(string.Join(", ", counts.Select(count => $"{count.Key} {count.Value}")));
        Assert.Equal(damages.Length, counts.Count);
    }

    /// <summary>
    /// Payloads with any byte changed and every checksum corrected. Some are valid segments of other rows: a payload
    /// is accepted only if a writer would write exactly the same bytes for the rows read.
    /// </summary>
    [Fact]
    public async Task Forged_payload_is_refused_or_equals_a_rewrite_of_its_rows()
    {
        var seed = Random.Shared.Next();
        output.WriteLine($"seed {seed}");
        var random = new Random(seed);
        var (refused, accepted) = (0, 0);
        for (var i = 0; i < 2_000; i++)
        {
            var rows = SegmentSamples.Rows(random, random.Next(3, 40));
            var facts = SegmentSamples.Facts(1, rows.Count);
            var segment = await SealAsync(rows, rows.Count, BlockCodec.None, facts);
            var damaged = ForgePayload(segment, random, any: true)!;
            if (Refusal(damaged.Bytes) is not null)
            {
                refused++;
                continue;
            }
            var found = new CollectVisitor();
            SegmentBytes.Open(SegmentSamples.Name, damaged.Bytes).Read(ref found);
            Assert.Equal(damaged.Bytes, (await SegmentSamples.WriteAsync(found.Rows, rows.Count, BlockCodec.None, facts: facts)).Bytes);
            accepted++;
        }
        output.WriteLine($"{refused} refused, {accepted} segments of other rows");
        Assert.True(refused > 200 && accepted > 200, $"{refused} refused, {accepted} accepted");
    }

    /// <summary>Compressed payloads with any byte changed or cut off, and every checksum and length around them corrected.</summary>
    [Fact]
    public async Task Forged_lz4_block_is_refused_or_read_within_the_memory_of_a_block()
    {
        var seed = Random.Shared.Next();
        output.WriteLine($"seed {seed}");
        var random = new Random(seed);
        var (refused, accepted) = (0, 0);
        for (var i = 0; i < 2_000; i++)
        {
            var rows = SegmentSamples.Rows(random, random.Next(20, 80));
            var segment = await SealAsync(rows, rows.Count, BlockCodec.Lz4, SegmentSamples.Facts(1, rows.Count));
            var stored = segment.Block(0)[SegmentLimits.FrameBytes..].ToArray();
            if (segment.Block(0)[32] != (byte)BlockCodec.Lz4)
                continue;
            for (var times = random.Next(1, 4); times > 0; times--)
                stored[random.Next(stored.Length)] = random.Next(4) == 0 ? (byte)0 : (byte)random.Next(256);
            if (random.Next(4) == 0)
                stored = stored[..random.Next(1, stored.Length)];
            var damaged = WithPayload(segment, 0, BlockCodec.Lz4, new byte[segment.Index.Blocks[0].RawBytes], stored);
            var allocated = GC.GetAllocatedBytesForCurrentThread();
            (refused, accepted) = Refusal(damaged.Bytes) is null ? (refused, accepted + 1) : (refused + 1, accepted);
            Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - allocated, 0, MaxAllocated);
        }
        output.WriteLine($"{refused} refused, {accepted} segments of other rows");
        Assert.True(refused > 1_000 && accepted > 50, $"{refused} refused, {accepted} accepted");
    }

    /// <summary>A block of two rows of one domain with this payload, and every length and checksum around it corrected.</summary>
    [Theory]
    [InlineData("01 04 612E6263 02 01 78 01 79", null)] // x and y at a.bc
    [InlineData("01 04 612E6263 02 01 78 10", null)] // x twice
    [InlineData("01 04 612E6263 02 01 78 11 78", null)] // x and xx
    [InlineData("02 04 612E6263 02 01 78 01 79", "another number of domains")]
    [InlineData("00 04 612E6263 02 01 78 01 79", "another number of domains")]
    [InlineData("8100 04 612E6263 02 01 78 01 79", "another number of domains")]
    [InlineData("01", "ends before its last domain")]
    [InlineData("01 03 612E62 02 01 78 01 79", "shorter than one can be")]
    [InlineData("01 0F 612E6263 02 01 78 01 79", "longer than what is left")]
    [InlineData("01 04 612E2063 02 01 78 01 79", "a domain holds a byte that is not a printable")]
    [InlineData("01 04 612E6263 00", "has no rows")]
    [InlineData("01 04 612E6263 03 01 78 01 79 01 7A", "more than are left")]
    [InlineData("01 04 612E6263 01 01 78", "fewer rows than its frame")]
    [InlineData("01 04 612E6263 02 01 78", "ends before its last row")]
    [InlineData("01 04 612E6263 02 01 78 0F", "ends before its last row")]
    [InlineData("01 04 612E6263 02 01 78 F0", "ends before its last row")]
    [InlineData("01 04 612E6263 02 11 78 01 79", "shares more than there was")]
    [InlineData("01 04 612E6263 02 01 78 21 79", "shares more than there was")]
    [InlineData("01 04 612E6263 02 01 78 05 79", "longer than one can be")]
    [InlineData("01 04 612E6263 02 00 01 79", "aliases are not in order")]
    [InlineData("01 04 612E6263 02 01 78 00", "aliases are not in order")]
    [InlineData("01 04 612E6263 02 01 78 01 77", "aliases are not in order")]
    [InlineData("01 04 612E6263 02 01 78 01 78", "aliases are not in order")]
    [InlineData("01 04 612E6263 02 01 78 02 7879", "aliases are not in order")]
    [InlineData("01 04 612E6263 02 01 78 01 7F", "an alias holds a byte that is not a printable")]
    [InlineData("01 04 612E6263 02 01 78 01 79 00", "continues after its last row")]
    // With at least 32 bytes left, an alias of at most 32 is checked as a vector: the byte 7F is its first, its last, or the next row's.
    [InlineData("01 04 612E6263 02 01 7F 0F31 79*64", "an alias holds a byte that is not a printable")]
    [InlineData("01 04 612E6263 02 01 78 0F31 79*64", null)]
    [InlineData("01 04 612E6263 02 01 78 0F11 79*31 7F", "an alias holds a byte that is not a printable")]
    [InlineData("01 04 612E6263 02 01 78 0F11 79*32", null)]
    [InlineData("01 04 612E6263 02 01 78 0F10 79*30 7F", "an alias holds a byte that is not a printable")]
    [InlineData("01 04 612E6263 02 01 78 0F12 79*32 7F", "an alias holds a byte that is not a printable")]
    [InlineData("01 04 612E6263 02 0F12 78*33 FC05 79*12", null)] // a vector after a longer alias
    [InlineData("01 04 612E6263 02 0F11 78*32 F011", null)] // 32 bytes, twice
    public async Task Payload_that_breaks_a_rule_is_refused(string hex, string? problem)
    {
        // "79*3" is 797979.
        var raw = Convert.FromHexString(string.Concat(hex.Split(' ').Select(part => part.Split('*') is [var one, var times]
            ? string.Concat(Enumerable.Repeat(one, int.Parse(times))) : part)));
        var segment = await SealAsync([("a.bc", "x"), ("a.bc", "y")], 2, BlockCodec.None, SegmentSamples.Facts(1, 2));
        var refused = Refusal(WithPayload(segment, 0, BlockCodec.None, raw, raw).Bytes);
        Assert.Equal(problem is null, refused is null);
        Assert.Contains(problem ?? "", refused?.Message ?? "", StringComparison.Ordinal);
    }

    [Fact]
    public async Task Footer_that_breaks_a_rule_is_refused_on_open()
    {
        var rows = Enumerable.Range(0, 2_000).Select(i => (i % 2 == 0 ? "a.large" : "b.large", $"n{i}")).ToList();
        var segment = await SealAsync(rows, 1_000, BlockCodec.Lz4, SegmentSamples.Facts(1, rows.Count));
        var (a, b) = (new LargeDomain("a.large", 1_000), new LargeDomain("b.large", 1_000));
        Assert.Equal(segment.Bytes, WithFooter([a, b], 5));
        Refused("3 large domains of 2000 rows", [a, b, new LargeDomain("c.large", 1_000)]);
        Refused("or not in order", [b, a]);
        Refused("or not in order", [a, a]);
        Refused("or not in order", [a, b with { Domain = "b large" }]);
        Refused("too few rows", [a, b with { Rows = 999 }]);
        Refused("more than are left", [a, b with { Rows = 1_001 }]);
        Refused("ends before its last domain", [a, b with { Domain = "b.l" }]);
        Refused("first slice has number 0", [a, b], 0);
        Refused("first slice has number -1", [a, b], -1);
        Refused("first slice has number 2147483646", [a, b], int.MaxValue - 1);

        byte[] longer = [.. segment.Bytes[..^SegmentLimits.TailBytes], 7, .. segment.Bytes[^SegmentLimits.TailBytes..]];
        Assert.Contains(
            "the footer continues after its last domain", Refusal(SealFooter(longer, segment.FooterOffset))!.Message,
            StringComparison.Ordinal);
        var tooLong = Assert.Throws<DamagedSegmentException>(
            () => SegmentIndex.FooterOffset("a", segment.FooterOffset + SegmentLimits.FooterBytes + 1, segment.Bytes));
        Assert.Contains($"at most {SegmentLimits.FooterBytes} of footer", tooLong.Message, StringComparison.Ordinal);

        byte[] WithFooter(List<LargeDomain> large, int slice)
        {
            var blocks = segment.Index.BlockList.Select(block => block with { Slice = slice + block.Number }).ToList();
            return [.. segment.Bytes[..segment.FooterOffset], .. SegmentIndex.Write(segment.Index.Header.Span, blocks, large)];
        }

        void Refused(string problem, List<LargeDomain> large, int slice = 5)
        {
            var e = Assert.Throws<DamagedSegmentException>(() => SegmentBytes.Open(SegmentSamples.Name, WithFooter(large, slice)));
            Assert.Contains(problem, e.Message, StringComparison.Ordinal);
            Assert.Null(e.Block);
        }
    }

    [Fact]
    public async Task Damage_message_names_segment_and_block_but_no_account()
    {
        var segment = await SealAsync(
            [("example.com", "somebody"), ("example.com", "zzz")], 1, BlockCodec.None, SegmentSamples.Facts(1, 2));
        var bytes = segment.Bytes.ToArray();
        bytes[segment.Index.Blocks[1].Offset + 50] ^= 1;
        var e = Assert.Throws<DamagedSegmentException>(() => SegmentBytes.Open(SegmentSamples.Name, bytes).Verify());
        Assert.Equal((SegmentSamples.Name, 1, segment.Index.Blocks[1].Offset), (e.Segment, e.Block, e.Offset));
        Assert.Equal(
            $"segment '{SegmentSamples.Name}' is damaged in block 1 at byte {e.Offset}: its checksum is not that of its bytes; if "
            + "its load's rows are still in SQL, write it again with 'hibp journal write --load LOAD --again', otherwise restore the blob",
            e.Message);
    }

    private static DamagedSegmentException? Refusal(byte[] bytes)
    {
        try
        {
            SegmentBytes.Open(SegmentSamples.Name, bytes).Verify();
            return null;
        }
        catch (DamagedSegmentException e)
        {
            return e;
        }
    }

    /// <summary>Writes fewer rows per block than the facts allow, as in a load whose batches ended early.</summary>
    private static async Task<Sealed> SealAsync(
        IReadOnlyList<(string Domain, string Alias)> rows, int blockRows, BlockCodec codec, SegmentFacts facts)
    {
        var (bytes, _) = await SegmentSamples.WriteAsync(rows, blockRows, codec, facts.First, facts);
        return new Sealed(bytes, SegmentBytes.Open(SegmentSamples.Name, bytes).Index);
    }

    private static Damaged CutOff(Sealed segment, Random random) => new(segment.Bytes[..random.Next(segment.Bytes.Length)]);

    private static Damaged Flip(Sealed segment, Random random)
    {
        var bytes = segment.Bytes.ToArray();
        var at = random.Next(bytes.Length);
        bytes[at] ^= (byte)(1 << random.Next(8));
        return segment.BlockAt(at) is { } block ? new Damaged(bytes, block) : new Damaged(bytes, OutsideBlocks: true);
    }

    private static Damaged Overwrite(Sealed segment, Random random)
    {
        var bytes = segment.Bytes.ToArray();
        var part = bytes.AsSpan(random.Next(bytes.Length));
        part = part[..random.Next(1, Math.Min(part.Length, 600) + 1)];
        if (random.Next(2) == 0)
            part.Clear();
        else
            random.NextBytes(part);
        return new Damaged(bytes);
    }

    private static Damaged Add(Sealed segment, Random random)
    {
        var more = new byte[random.Next(1, 200)];
        if (random.Next(2) == 0)
            random.NextBytes(more);
        var length = segment.Bytes.Length;
        var at = random.Next(3) switch { 0 => length, 1 => segment.Index.Header.Length, _ => random.Next(length) };
        if (random.Next(3) != 0)
            return new Damaged([.. segment.Bytes[..at], .. more, .. segment.Bytes[at..]]);
        // Between the last block and a footer that records its own position.
        byte[] bytes = [.. segment.Bytes[..segment.FooterOffset], .. more, .. segment.Footer];
        BinaryPrimitives.WriteInt64LittleEndian(bytes.AsSpan(^SegmentLimits.TailBytes..), segment.FooterOffset + more.Length);
        return new Damaged(SealFooter(bytes, segment.FooterOffset + more.Length), OutsideBlocks: true);
    }

    private static Damaged? SwapBlocks(Sealed segment, Random random)
    {
        var (one, other) = (random.Next(segment.Index.Blocks.Length), random.Next(segment.Index.Blocks.Length));
        if (one == other)
            return null;
        var order = Enumerable.Range(0, segment.Index.Blocks.Length).ToArray();
        (order[one], order[other]) = (order[other], order[one]);
        var blocks = order.Select(segment.Block).ToArray();
        byte[] bytes = [.. segment.Bytes[..segment.Index.Header.Length], .. blocks.SelectMany(block => block), .. segment.Footer];
        if (random.Next(3) == 0)
            return new Damaged(bytes);
        // The index has the new positions; in half of these, its entries are swapped too.
        var offset = (long)segment.Index.Header.Length;
        var entries = bytes.AsSpan(segment.FooterOffset);
        var whole = random.Next(2) == 0;
        for (var i = 0; i < order.Length; i++)
        {
            var from = segment.Footer.AsSpan(order[i] * SegmentLimits.IndexBytes, SegmentLimits.IndexBytes);
            var entry = entries.Slice(i * SegmentLimits.IndexBytes, SegmentLimits.IndexBytes);
            if (whole)
                from.CopyTo(entry);
            else
            {
                from[16..24].CopyTo(entry[16..]);
                from[28..].CopyTo(entry[28..]);
            }
            BinaryPrimitives.WriteInt64LittleEndian(entry, offset);
            offset += blocks[i].Length;
        }
        return new Damaged(SealFooter(bytes, segment.FooterOffset));
    }

    private static Damaged? Transplant(Sealed segment, Sealed other, Random random)
    {
        if (segment == other)
            return null;
        var (at, from) = (random.Next(segment.Index.Blocks.Length), random.Next(other.Index.Blocks.Length));
        var block = other.Block(from);
        var blocks = Enumerable.Range(0, segment.Index.Blocks.Length).SelectMany(i => i == at ? block : segment.Block(i));
        byte[] bytes = [.. segment.Bytes[..segment.Index.Header.Length], .. blocks, .. segment.Footer];
        return new Damaged(bytes);
    }

    private static Damaged? OthersHeader(Sealed segment, Sealed other, Random random)
    {
        if (segment == other)
            return null;
        var header = other.Bytes[..other.Index.Header.Length];
        if (random.Next(2) == 0)
        {
            // A header that differs only in its load: same length, same positions.
            header = segment.Bytes[..segment.Index.Header.Length];
            BinaryPrimitives.WriteInt64LittleEndian(header.AsSpan(16), random.NextInt64(1, 1_000) + 7);
            SealHeader(header);
        }
        return new Damaged([.. header, .. segment.Bytes[segment.Index.Header.Length..]], OutsideBlocks: true);
    }

    private static Damaged ForgeHeader(Sealed segment, Random random)
    {
        var bytes = segment.Bytes.ToArray();
        var header = bytes.AsSpan(0, segment.Index.Header.Length);
        switch (random.Next(5))
        {
            case 4:
                header[random.Next(8)] ^= (byte)(1 << random.Next(8));
                break;
            case 0:
                Forge(random, header.Slice(8, 4));
                break;
            case 1:
                Forge(random, header.Slice(random.Next(2) == 0 ? 64 : 72, 8));
                break;
            case 2:
                BinaryPrimitives.WriteUInt16LittleEndian(header[(80 + (2 * random.Next(3)))..], (ushort)Forged(random, 13));
                break;
            default:
                // Fewer rows than its blocks have.
                var maxRows = segment.Index.BlockList.Max(block => block.Rows);
                BinaryPrimitives.WriteInt32LittleEndian(
                    header[32..], random.Next(2) == 0 ? random.Next(maxRows) : int.MinValue + random.Next(maxRows));
                break;
        }
        if (random.Next(3) != 0)
        {
            SealHeader(header);
            header[^4..].CopyTo(bytes.AsSpan(^(SegmentLimits.TailBytes - 36)..));
            SealFooter(bytes, segment.FooterOffset);
        }
        return new Damaged(bytes);
    }

    private static Damaged ForgeFrame(Sealed segment, Random random)
    {
        var bytes = segment.Bytes.ToArray();
        var number = random.Next(segment.Index.Blocks.Length);
        var block = segment.Index.Blocks[number];
        var frame = bytes.AsSpan((int)block.Offset, (int)(block.End - block.Offset));
        var field = new[] { 0, 4, 8, 12, 16, 24, 28, 32, 33, 34 }[random.Next(10)];
        if (field is 32 or 33 or 34)
            frame[field] = (byte)random.Next(256);
        else
            Forge(random, frame.Slice(field, field == 16 ? 8 : 4));
        if (random.Next(3) == 0)
            return new Damaged(bytes, number);
        // In half of these, the index has the same forged value as the frame.
        if (random.Next(2) == 0 && field is 4 or 8 or 12 or 16)
        {
            var entry = bytes.AsSpan(segment.FooterOffset + (number * SegmentLimits.IndexBytes), SegmentLimits.IndexBytes);
            if (field == 16)
                frame.Slice(16, 8).CopyTo(entry[8..]);
            else
                frame.Slice(field, 4).CopyTo(entry[(12 + field)..]);
            SealBlock(bytes, segment, number);
            return new Damaged(bytes);
        }
        SealBlock(bytes, segment, number);
        return new Damaged(bytes, number);
    }

    private static Damaged ForgeIndex(Sealed segment, Random random)
    {
        var bytes = segment.Bytes.ToArray();
        var entry = bytes.AsSpan(
            segment.FooterOffset + (random.Next(segment.Index.Blocks.Length) * SegmentLimits.IndexBytes), SegmentLimits.IndexBytes);
        var field = random.Next(6);
        Forge(random, field < 2 ? entry.Slice(field * 8, 8) : entry.Slice((field * 4) + 8, 4));
        return new Damaged(random.Next(3) == 0 ? bytes : SealFooter(bytes, segment.FooterOffset));
    }

    private static Damaged ForgeTail(Sealed segment, Random random)
    {
        var bytes = segment.Bytes.ToArray();
        var tail = bytes.AsSpan(^SegmentLimits.TailBytes..);
        var field = new[] { 0, 8, 12, 16, 24, 32, 36 }[random.Next(7)];
        Forge(random, tail.Slice(field, field is 0 or 16 or 24 ? 8 : 4));
        return new Damaged(random.Next(3) == 0 ? bytes : SealFooter(bytes, segment.FooterOffset));
    }

    private static Damaged? ForgeLargeDomain(Sealed segment, Random random)
    {
        if (segment.Index.LargeDomains.Count == 0)
            return null;
        var bytes = segment.Bytes.ToArray();
        var start = segment.FooterOffset + (segment.Index.Blocks.Length * SegmentLimits.IndexBytes);
        var list = bytes.AsSpan(start)[..^SegmentLimits.TailBytes];
        list[random.Next(list.Length)] ^= (byte)(1 << random.Next(8));
        return new Damaged(random.Next(3) == 0 ? bytes : SealFooter(bytes, segment.FooterOffset), OutsideBlocks: true);
    }

    /// <summary>Forges a length within a payload, or any byte, and corrects every checksum and length around it.</summary>
    private Damaged? ForgePayload(Sealed segment, Random random, bool any = false)
    {
        var number = random.Next(segment.Index.Blocks.Length);
        var block = segment.Index.Blocks[number];
        var bytes = segment.Block(number);
        var raw = new byte[block.RawBytes];
        Assert.True(PayloadCodec.TryDecompress((BlockCodec)bytes[32], bytes.AsSpan(SegmentLimits.FrameBytes), raw));
        if (any)
            raw[random.Next(raw.Length)] = (byte)random.Next(random.Next(2) == 0 ? 0 : 0x21, random.Next(2) == 0 ? 256 : 0x7F);
        else if (random.Next(3) == 0)
            raw = [.. raw, .. new byte[random.Next(1, 20)]];
        else if (random.Next(2) == 0)
            raw = raw[..random.Next(1, raw.Length)];
        else
            raw[0] = (byte)Forged(random, raw[0]); // number of domains
        if (raw.Length > SegmentLimits.RawBytes(block.Rows))
            return null;
        var stored = new byte[raw.Length];
        var codec = (BlockCodec)bytes[32];
        var length = raw.Length < 2 ? 0 : PayloadCodec.Compress(codec, raw, stored);
        if (length == 0)
            (codec, length, stored) = (BlockCodec.None, raw.Length, raw);
        return WithPayload(segment, number, codec, raw, stored[..length]);
    }

    private static Damaged WithPayload(Sealed segment, int number, BlockCodec codec, byte[] raw, byte[] stored)
    {
        var block = segment.Index.Blocks[number];
        byte[] forged = [.. segment.Block(number)[..SegmentLimits.FrameBytes], .. stored];
        BinaryPrimitives.WriteInt32LittleEndian(forged.AsSpan(4), stored.Length);
        BinaryPrimitives.WriteInt32LittleEndian(forged.AsSpan(8), raw.Length);
        forged[32] = (byte)codec;
        var blocks = Enumerable.Range(0, segment.Index.Blocks.Length).Select(i => i == number ? forged : segment.Block(i)).ToArray();
        byte[] whole = [.. segment.Bytes[..segment.Index.Header.Length], .. blocks.SelectMany(one => one), .. segment.Footer];
        var footer = whole.Length - segment.Footer.Length;
        var offset = (long)segment.Index.Header.Length;
        for (var i = 0; i < blocks.Length; i++)
        {
            BinaryPrimitives.WriteInt64LittleEndian(whole.AsSpan(footer + (i * SegmentLimits.IndexBytes)), offset);
            offset += blocks[i].Length;
        }
        var entry = whole.AsSpan(footer + (number * SegmentLimits.IndexBytes), SegmentLimits.IndexBytes);
        BinaryPrimitives.WriteInt32LittleEndian(entry[16..], stored.Length);
        BinaryPrimitives.WriteInt32LittleEndian(entry[20..], raw.Length);
        var at = whole.AsSpan((int)block.Offset, forged.Length);
        BinaryPrimitives.WriteUInt32LittleEndian(at[36..], BlockFrame.Crc(at));
        at[36..40].CopyTo(entry[28..]);
        BinaryPrimitives.WriteInt64LittleEndian(whole.AsSpan(^SegmentLimits.TailBytes..), footer);
        return new Damaged(SealFooter(whole, footer), number);
    }

    private static void SealHeader(Span<byte> header) =>
        BinaryPrimitives.WriteUInt32LittleEndian(header[^4..], Crc32C.Compute(header[..^4]));

    private static void SealBlock(byte[] bytes, Sealed segment, int number)
    {
        var block = segment.Index.Blocks[number];
        var whole = bytes.AsSpan((int)block.Offset, (int)(block.End - block.Offset));
        BinaryPrimitives.WriteUInt32LittleEndian(whole[36..], BlockFrame.Crc(whole));
        whole[36..40].CopyTo(bytes.AsSpan(segment.FooterOffset + (number * SegmentLimits.IndexBytes) + 28));
        SealFooter(bytes, segment.FooterOffset);
    }

    private static byte[] SealFooter(byte[] bytes, int footer)
    {
        BinaryPrimitives.WriteUInt32LittleEndian(bytes.AsSpan(^8..), Crc32C.Compute(bytes.AsSpan(footer)[..^8]));
        return bytes;
    }

    /// <summary>Forges a number of four or eight bytes.</summary>
    private static void Forge(Random random, Span<byte> number)
    {
        var value = number.Length == 4 ? BinaryPrimitives.ReadInt32LittleEndian(number) : BinaryPrimitives.ReadInt64LittleEndian(number);
        Span<byte> forged = stackalloc byte[8];
        BinaryPrimitives.WriteInt64LittleEndian(forged, Forged(random, value, 8 * number.Length));
        forged[..number.Length].CopyTo(number);
    }

    private static long Forged(Random random, long value, int bits = 32) => random.Next(5) switch
    {
        0 => value + random.Next(1, 100),
        1 => value - random.Next(1, 100),
        2 => random.NextInt64(),
        3 => random.GetItems(Extremes, 1)[0],
        _ => value ^ (1L << random.Next(bits)),
    };

    private sealed record Sealed(byte[] Bytes, SegmentIndex Index)
    {
        public int FooterOffset => Bytes.Length - Index.Footer.Length;

        public byte[] Footer => Bytes[FooterOffset..];

        public byte[] Block(int number) => Bytes[(int)Index.Blocks[number].Offset..(int)Index.Blocks[number].End];

        public int? BlockAt(int offset) =>
            Index.BlockList.Where(block => block.Offset <= offset && offset < block.End).Select(block => (int?)block.Number)
                .SingleOrDefault();
    }

    /// <param name="Bytes">The whole segment.</param>
    /// <param name="Block">The damaged block, or null if no particular block must be reported.</param>
    /// <param name="OutsideBlocks">True if header or footer is damaged.</param>
    private sealed record Damaged(byte[] Bytes, int? Block = null, bool OutsideBlocks = false);
}
