using System.IO.Compression;
using HibpIngest.Passwords.Ranges;

namespace HibpIngest.Tests.Passwords;

public sealed class RangeGzipTests
{
    /// <summary>Bytes allocated for the stream and an exception.</summary>
    private const long Overhead = 1 << 20;

    [Fact]
    public void Append_adds_rows_to_a_compressed_range_with_a_valid_checksum()
    {
        var random = new Random(11);
        for (var i = 0; i < 100; i++)
        {
            var text = new byte[i < 5 ? i + 1 : random.Next(1, 100_000)];
            random.NextBytes(text);
            var gzip = RangeGzip.Compress(text);
            Assert.Equal(text, Gunzip(gzip));
            var more = new byte[random.Next(0, 60_000)];
            random.NextBytes(more);
            var padded = RangeGzip.Append(gzip, more);
            Assert.NotNull(padded);
            Assert.Equal((byte[])[.. text, .. more], Gunzip(padded));
            // Checks the trailer, which the library doesn't.
            Assert.Equal((byte[])[.. text, .. more], RangeGzip.Decompress(padded));
        }
    }

    [Fact]
    public void Append_returns_null_for_foreign_gzip_and_oversized_rows()
    {
        using var memory = new MemoryStream();
        using (var stream = new GZipStream(memory, CompressionLevel.Optimal, leaveOpen: true))
            stream.Write(Encoding.ASCII.GetBytes("00000000000000000000000000000000000:1"));
        Assert.Null(RangeGzip.Append(memory.ToArray(), "\r\n0:0"u8));
        Assert.Null(RangeGzip.Append([], "\r\n0:0"u8));
        Assert.Null(RangeGzip.Append(RangeGzip.Compress("x"u8), new byte[ushort.MaxValue + 1]));
    }

    [Fact]
    public void A_damaged_or_truncated_range_is_rejected()
    {
        var gzip = RangeGzip.Compress(Encoding.ASCII.GetBytes(RangeTextTests.Text(
            HashMode.Sha1, [.. RangeTextTests.Rows(new Random(3), HashMode.Sha1, 1, 40).Select(row => row.Row)])));
        var whole = RangeGzip.Decompress(gzip);
        var maxBytes = gzip.Length * 1_032L; // DEFLATE's limit
        // The header's time, flags and system don't affect the content.
        for (var at = 10; at < gzip.Length; at++)
        {
            for (var bit = 0; bit < 8; bit++)
            {
                var damaged = gzip.ToArray();
                damaged[at] ^= (byte)(1 << bit);
                // Or the text is the same, since no decoder reads some of the bits.
                var refused = Record.Exception(() => Assert.Equal(whole, RangeGzip.Decompress(damaged)));
                Assert.True(refused is null or StoreMismatchException, $"bit {bit} of byte {at}: {refused}");
            }
        }
        for (var length = 0; length < gzip.Length; length++)
        {
            var before = GC.GetAllocatedBytesForCurrentThread();
            Assert.Throws<StoreMismatchException>(() => RangeGzip.Decompress(gzip.AsMemory(0, length)));
            Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 0, maxBytes + Overhead);
        }
    }

    private static byte[] Gunzip(byte[] gzip)
    {
        using var text = new MemoryStream();
        using (var stream = new GZipStream(new MemoryStream(gzip), CompressionMode.Decompress))
            stream.CopyTo(text);
        return text.ToArray();
    }
}
