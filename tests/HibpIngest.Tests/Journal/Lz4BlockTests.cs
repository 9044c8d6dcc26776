using System.Runtime.InteropServices;
using HibpIngest.Journal.Segments;

namespace HibpIngest.Tests.Journal;

/// <summary>Tests LZ4 compression and decompression against Debian's library, and on invalid input.</summary>
public sealed class Lz4BlockTests(ITestOutputHelper output)
{
    private const string Native = "liblz4.so.1";

    [Fact]
    public void Blocks_are_interchangeable_with_the_native_library()
    {
        var seed = Random.Shared.Next();
        output.WriteLine($"seed {seed}");
        if (!NativeLibrary.TryLoad(Native, typeof(Lz4BlockTests).Assembly, DllImportSearchPath.SafeDirectories, out _))
        {
            Assert.False(
                File.Exists("/etc/debian_version"),
                $"{Native} is missing, which Debian's package manager itself needs (apt install liblz4-1)");
            output.WriteLine($"NOT COMPARED with the original: this machine has no {Native}");
            return;
        }
        var random = new Random(seed);
        for (var round = 0; round < 600; round++)
        {
            var raw = Text(random);
            var ours = Compress(raw);
            var decoded = new byte[raw.Length];
            Assert.Equal(raw.Length, DecompressSafe(ours, decoded, ours.Length, decoded.Length));
            Assert.Equal(raw, decoded);

            var theirs = new byte[raw.Length + (raw.Length / 255) + 16];
            var length = CompressFast(raw, theirs, raw.Length, theirs.Length, random.Next(1, 10));
            Assert.True(length > 0);
            decoded.AsSpan().Clear();
            Assert.True(Lz4Block.TryDecompress(theirs.AsSpan(0, length), decoded), $"round {round}");
            Assert.Equal(raw, decoded);
        }
    }

    [Fact]
    public void Compress_is_deterministic_and_stays_within_its_buffer()
    {
        var random = new Random(31);
        for (var round = 0; round < 300; round++)
        {
            var raw = Text(random);
            var compressed = Compress(raw);
            Assert.Equal(compressed, Compress(raw));
            var decoded = new byte[raw.Length];
            Assert.True(Lz4Block.TryDecompress(compressed, decoded));
            Assert.Equal(raw, decoded);
            Assert.False(Lz4Block.TryDecompress(compressed, new byte[raw.Length + 1]));
            Assert.False(Lz4Block.TryDecompress(compressed, new byte[raw.Length - 1]));

            foreach (var length in (int[])[compressed.Length, compressed.Length - 1, random.Next(compressed.Length)])
            {
                var room = new byte[length + 64];
                room.AsSpan(length).Fill(0xEE);
                var written = Lz4Block.Compress(raw, room.AsSpan(0, length));
                Assert.False(room.AsSpan(length).ContainsAnyExcept((byte)0xEE));
                Assert.True(written == 0 || (length == compressed.Length && room.AsSpan(0, written).SequenceEqual(compressed)));
            }
        }
    }

    [Fact]
    public void Decompress_of_any_input_stays_within_its_buffer_and_allocates_nothing()
    {
        var seed = Random.Shared.Next();
        output.WriteLine($"seed {seed}");
        var random = new Random(seed);
        var (refused, accepted, allocating) = (0, 0, 0);
        for (var round = 0; round < 5_000; round++)
        {
            byte[] damaged;
            var length = random.Next(0, 300);
            if (round % 3 == 0)
                damaged = random.GetItems<byte>([0, 1, 4, 15, 16, 17, 31, 240, 255], random.Next(0, 60));
            else
            {
                var raw = Text(random);
                damaged = Compress(raw);
                length = raw.Length;
                for (var times = random.Next(1, 4); times > 0; times--)
                    damaged[random.Next(damaged.Length)] = random.Next(4) == 0 ? (byte)0 : (byte)random.Next(256);
                if (random.Next(4) == 0)
                    damaged = damaged[..random.Next(damaged.Length)];
            }
            var room = new byte[length + 64];
            room.AsSpan(length).Fill(0xEE);
            var allocated = GC.GetAllocatedBytesForCurrentThread();
            var ended = Lz4Block.TryDecompress(damaged, room.AsSpan(0, length));
            allocating += GC.GetAllocatedBytesForCurrentThread() != allocated ? 1 : 0;
            Assert.False(room.AsSpan(length).ContainsAnyExcept((byte)0xEE));
            if (ended)
            {
                // The bytes come from the block alone, not from the buffer's earlier content.
                var other = new byte[length];
                other.AsSpan().Fill(0x11);
                Assert.True(Lz4Block.TryDecompress(damaged, other));
                Assert.Equal(other, room[..length]);
            }
            (refused, accepted) = ended ? (refused, accepted + 1) : (refused + 1, accepted);
        }
        output.WriteLine($"{refused} refused, {accepted} decoded to something, {allocating} calls during which the runtime took memory");
        // Tiered compilation and other tests' garbage collections cause a few; a real allocation would occur each time.
        Assert.InRange(allocating, 0, 10);
        Assert.True(refused > 1_000 && accepted > 100, $"{refused} refused, {accepted} decoded");
    }

    [Theory]
    [InlineData("", 0)] // no sequence at all
    [InlineData("", 1)]
    [InlineData("00", 0)] // an empty result, which no block has
    [InlineData("10", 1)] // a missing literal
    [InlineData("1041", 2)] // one byte instead of two
    [InlineData("0001000000", 4)] // a match before any output
    [InlineData("1041000000", 5)] // at distance 0
    [InlineData("1041020000", 5)] // from before the beginning
    [InlineData("10410100", 5)] // ends with a match
    [InlineData("104101", 5)] // ends within a match
    [InlineData("F0FFFFFF", 100)] // a length without an end
    [InlineData("1F410100FFFF", 1000)]
    [InlineData("10410000F00F626262626262626262626262626262626262626262626262626262626262", 35)] // with room to spare: at distance 0
    [InlineData("10410200F00F626262626262626262626262626262626262626262626262626262626262", 35)] // from before the beginning
    [InlineData("10410900F00F626262626262626262626262626262626262626262626262626262626262", 35)]
    [InlineData("1041010000", 5)] // ends with a match: the last five bytes must be literals
    [InlineData("20414202001043", 7)] // the last match must begin twelve bytes before the end
    public void Block_that_breaks_a_rule_is_refused(string hex, int room) =>
        Assert.False(Lz4Block.TryDecompress(Convert.FromHexString(hex), new byte[room]));

    [Fact]
    public void Brotli_of_another_length_is_refused()
    {
        var raw = new byte[100];
        var stored = new byte[100];
        var length = PayloadCodec.Compress(BlockCodec.Brotli, raw, stored);
        Assert.True(PayloadCodec.TryDecompress(BlockCodec.Brotli, stored.AsSpan(0, length), raw));
        Assert.False(PayloadCodec.TryDecompress(BlockCodec.Brotli, stored.AsSpan(0, length + 1), raw));
        Assert.False(PayloadCodec.TryDecompress(BlockCodec.Brotli, stored.AsSpan(0, length), raw.AsSpan(0, 99)));
        Assert.False(PayloadCodec.TryDecompress(BlockCodec.Brotli, stored.AsSpan(0, length - 1), raw));
    }

    [Theory]
    [InlineData("3041424300", null)]
    [InlineData("30414243", "ABC")]
    [InlineData("10410100 80 6263646566676869", "AAAAAbcdefghi")]
    [InlineData("2041420200 80 434445464748494A", "ABABABCDEFGHIJ")]
    [InlineData("1F41 0100 03 50 6263646566", "AAAAAAAAAAAAAAAAAAAAAAAbcdef")]
    [InlineData(
        "F71A 020B6578616D706C652E636F6D0304616E6E61404E62656C6C652E6C6F6E6765722D31106D61696C2E 2700 500103626F62",
        "\u0002\u000Bexample.com\u0003\u0004anna@Nbelle.longer-1\u0010mail.example.com\u0001\u0003bob")] // by the encoder of version 0.1
    public void Hand_written_block_is_decoded_as_specified(string hex, string? expected)
    {
        var block = Convert.FromHexString(hex.Replace(" ", "", StringComparison.Ordinal));
        var decoded = new byte[expected?.Length ?? 3];
        Assert.Equal(expected is not null, Lz4Block.TryDecompress(block, decoded));
        if (expected is not null)
            Assert.Equal(expected, Encoding.ASCII.GetString(decoded));
    }

    [Theory]
    [InlineData("", 0u)]
    [InlineData("123456789", 0xE3069283u)]
    [InlineData("The quick brown fox jumps over the lazy dog", 0x22620404u)]
    public void Checksum_is_crc_32c(string text, uint expected)
    {
        var bytes = Encoding.ASCII.GetBytes(text);
        Assert.Equal(expected, Crc32C.Compute(bytes));
        for (var i = 0; i <= bytes.Length; i++)
            Assert.Equal(expected, Crc32C.Compute(bytes.AsSpan(0, i), bytes.AsSpan(i)));
        // RFC 3720, B.4
        Assert.Equal(0x8A9136AAu, Crc32C.Compute(new byte[32]));
        Assert.Equal(0x62A8AB43u, Crc32C.Compute(Enumerable.Repeat((byte)0xFF, 32).ToArray()));
    }

    private static byte[] Compress(byte[] raw)
    {
        var compressed = new byte[raw.Length + (raw.Length / 255) + 16];
        return compressed[..Lz4Block.Compress(raw, compressed)];
    }

    /// <summary>Makes text that ranges from random to a single repeated byte, with repeats near and far.</summary>
    private static byte[] Text(Random random)
    {
        var raw = new byte[random.Next(8) == 0 ? random.Next(1, 200_000) : random.Next(1, 400)];
        var letters = random.Next(1, 6) switch { 1 => 1, 2 => 2, 3 => 4, 4 => 30, _ => 256 };
        for (var i = 0; i < raw.Length; i++)
            raw[i] = (byte)random.Next(letters);
        for (var times = random.Next(20); times > 0; times--)
        {
            var length = random.Next(Math.Min(raw.Length, 3_000)) + 1;
            var (from, to) = (random.Next(raw.Length - length + 1), random.Next(raw.Length - length + 1));
            raw.AsSpan(from, length).CopyTo(raw.AsSpan(to));
        }
        return raw;
    }

    [DllImport(Native, EntryPoint = "LZ4_decompress_safe")]
    [DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]
    private static extern int DecompressSafe(byte[] source, byte[] destination, int compressed, int room);

    [DllImport(Native, EntryPoint = "LZ4_compress_fast")]
    [DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]
    private static extern int CompressFast(byte[] source, byte[] destination, int length, int room, int acceleration);
}
