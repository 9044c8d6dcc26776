using HibpIngest.Journal.Files;
using HibpIngest.Journal.Segments;

namespace HibpIngest.Tests.Journal;

public sealed class SegmentReaderTests : IDisposable
{
    private readonly TemporaryFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task Segment_of_several_groups_is_read_in_one_stream_and_verified()
    {
        // About three megabytes, so that the next group is being read while one is decoded.
        var random = new Random(21);
        var rows = Enumerable.Range(0, 120_000)
            .Select(i => ($"{random.Next(500)}.com", $"{random.NextInt64():x16}{random.NextInt64():x16}")).ToList();
        var (blobs, bytes) = await LogAsync(rows, 10_000);
        Assert.InRange(bytes.Length, 2 << 20, 4 << 20);
        await using var reader = await SegmentReader.OpenAsync(blobs, SegmentSamples.Name, CancellationToken.None);
        Assert.Equal((SegmentSamples.Facts(1, 120_000), 120_000, 12), (reader.Facts, reader.Rows, reader.Blocks.Count));
        Assert.Equal(bytes.Length, reader.Length);
        Assert.Equal(bytes[..reader.HeaderBytes.Length], reader.HeaderBytes.ToArray());
        Assert.Equal(bytes[^reader.FooterBytes.Length..], reader.FooterBytes.ToArray());
        for (var twice = 0; twice < 2; twice++)
        {
            var found = await reader.ReadAsync(new CollectVisitor(), CancellationToken.None);
            Assert.Equal(SegmentSamples.Expected(rows, 10_000), found.Rows);
        }
        Assert.Equal(new SegmentVerification(120_000, 12, bytes.Length), await reader.VerifyAsync(CancellationToken.None));
    }

    [Fact]
    public async Task Footer_longer_than_the_first_read_is_read_completely()
    {
        var rows = SegmentSamples.Rows(new Random(22), 2_500);
        var (blobs, _) = await LogAsync(rows, 1);
        await using var reader = await SegmentReader.OpenAsync(blobs, SegmentSamples.Name, CancellationToken.None);
        Assert.True(reader.FooterBytes.Length > SegmentIndex.UsualFooterBytes);
        Assert.Equal(rows, (await reader.ReadAsync(new CollectVisitor(), CancellationToken.None)).Rows);
        await reader.VerifyAsync(CancellationToken.None);
    }

    [Fact]
    public async Task Block_is_read_by_position()
    {
        var rows = SegmentSamples.Rows(new Random(23), 1_000);
        var (blobs, _) = await LogAsync(rows, 64, first: 501);
        await using var reader = await SegmentReader.OpenAsync(blobs, SegmentSamples.Name, CancellationToken.None);
        var batch = new AccountBatch(64);
        foreach (var position in new long[] { 501, 564, 565, 1_000, 1_500 })
        {
            await reader.ReadBlockAsync(position, batch, CancellationToken.None);
            var slice = (int)((position - 501) / 64);
            Assert.Equal(501 + (slice * 64), batch.FirstPosition);
            Assert.Equal(
                SegmentSamples.Expected(rows.Skip(slice * 64).Take(64), 64),
                Enumerable.Range(0, batch.Count).Select(
                    i => (Encoding.ASCII.GetString(batch.Domain(i)), Encoding.ASCII.GetString(batch.Alias(i)))));
        }
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(() => reader.ReadBlockAsync(500, batch, CancellationToken.None));
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(() => reader.ReadBlockAsync(1_501, batch, CancellationToken.None));
        await Assert.ThrowsAsync<ArgumentException>(() => reader.ReadBlockAsync(501, new AccountBatch(63), CancellationToken.None));
    }

    [Fact]
    public async Task Missing_or_deleted_segment_is_reported()
    {
        var (blobs, _) = await LogAsync(SegmentSamples.Rows(new Random(24), 100), 10);
        var e = await Assert.ThrowsAsync<StoreMissingException>(
            () => SegmentReader.OpenAsync(blobs, "1/other.alog", CancellationToken.None));
        Assert.Contains("'1/other.alog'", e.Message, StringComparison.Ordinal);
        await using var reader = await SegmentReader.OpenAsync(blobs, SegmentSamples.Name, CancellationToken.None);
        await blobs.DeleteAsync(SegmentSamples.Name, CancellationToken.None);
        await Assert.ThrowsAsync<StoreMissingException>(() => reader.VerifyAsync(CancellationToken.None));
        await Assert.ThrowsAsync<StoreMissingException>(() => reader.ReadBlockAsync(1, new AccountBatch(10), CancellationToken.None));
    }

    [Fact]
    public async Task Segment_replaced_after_opening_is_refused()
    {
        var (blobs, bytes) = await LogAsync(SegmentSamples.Rows(new Random(25), 100), 10);
        var (other, _) = await SegmentSamples.WriteAsync(SegmentSamples.Rows(new Random(26), 100), 10);
        await using var reader = await SegmentReader.OpenAsync(blobs, SegmentSamples.Name, CancellationToken.None);
        foreach (var replacement in new[] { bytes[..(bytes.Length / 2)], [], other })
        {
            await blobs.DeleteAsync(SegmentSamples.Name, CancellationToken.None);
            await blobs.WriteAsync(SegmentSamples.Name, replacement, CancellationToken.None);
            var e = await Assert.ThrowsAsync<DamagedSegmentException>(() => reader.VerifyAsync(CancellationToken.None));
            Assert.Equal(SegmentSamples.Name, e.Segment);
            Assert.NotNull(e.Block);
            await Assert.ThrowsAsync<DamagedSegmentException>(
                () => reader.ReadBlockAsync(100, new AccountBatch(10), CancellationToken.None));
        }
    }

    [Fact]
    public async Task Damaged_blob_is_refused_like_a_damaged_segment_in_memory()
    {
        var (blobs, bytes) = await LogAsync(SegmentSamples.Rows(new Random(27), 300), 20);
        var random = new Random(28);
        for (var i = 0; i < 40; i++)
        {
            var damaged = bytes.ToArray();
            damaged[random.Next(bytes.Length)] ^= (byte)(1 << random.Next(8));
            if (i % 4 == 0)
                damaged = bytes[..random.Next(bytes.Length)];
            await blobs.DeleteAsync(SegmentSamples.Name, CancellationToken.None);
            await blobs.WriteAsync(SegmentSamples.Name, damaged, CancellationToken.None);
            var e = await Assert.ThrowsAsync<DamagedSegmentException>(async () =>
            {
                await using var reader = await SegmentReader.OpenAsync(blobs, SegmentSamples.Name, CancellationToken.None);
                await reader.VerifyAsync(CancellationToken.None);
            });
            var expected = Assert.Throws<DamagedSegmentException>(() => SegmentBytes.Open(SegmentSamples.Name, damaged).Verify());
            Assert.Equal((expected.Segment, expected.Block, expected.Offset), (e.Segment, e.Block, e.Offset));
        }
    }

    private async Task<(IJournalBlobs Blobs, byte[] Bytes)> LogAsync(
        IReadOnlyList<(string Domain, string Alias)> rows, int sliceRows, long first = 1)
    {
        var blobs = new FolderJournal(_folder.Path);
        await blobs.CreateAsync(CancellationToken.None);
        var (bytes, _) = await SegmentSamples.WriteAsync(rows, sliceRows, first: first);
        Assert.True(await blobs.UploadAsync(SegmentSamples.Name, new MemoryStream(bytes), CancellationToken.None));
        return (blobs, bytes);
    }
}
