using System.IO.Compression;
using HibpIngest.Archives;
using static HibpIngest.Testing.ArchiveTesting;

namespace HibpIngest.Tests.Archives;

public sealed class ForwardInflaterTests
{
    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(5)]
    [InlineData(1000)]
    public void Reader_is_positioned_right_after_the_compressed_data(int readBytes)
    {
        foreach (var level in (CompressionLevel[])[CompressionLevel.NoCompression, CompressionLevel.Fastest, CompressionLevel.SmallestSize])
        {
            for (var lines = 0; lines < 40; lines++)
            {
                var text = lines == 0 ? "x" : Lines(lines, lines);
                var compressed = new MemoryStream();
                using (var deflate = new DeflateStream(compressed, level, leaveOpen: true))
                    deflate.Write(Bytes(text));
                using var source = new Trickle([.. compressed.ToArray(), .. "TAIL and more"u8], readBytes);
                using var reader = new ForwardReader(source);
                var gauge = new IdleGauge(new InflationMeter(new ArchiveLimits(), 0), EntryName.TopLevel(0, 1, "e"u8));
                using var inflater = new ForwardInflater(reader, gauge);
                var inflated = new MemoryStream();

                inflater.CopyTo(inflated, 50);

                Assert.Equal(text, Encoding.Latin1.GetString(inflated.ToArray()));
                Assert.Equal(compressed.Length, inflater.CompressedBytes);
                Assert.True(reader.Peek(4).AsSpan().StartsWith("TAIL"u8), $"{level}, {lines} lines");
            }
        }
    }

    private sealed class Trickle(byte[] data, int readBytes) : MemoryStream(data)
    {
        public override int Read(byte[] buffer, int offset, int count) => base.Read(buffer, offset, Math.Min(count, readBytes));
    }
}
