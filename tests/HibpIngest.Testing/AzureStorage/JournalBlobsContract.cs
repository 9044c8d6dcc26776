namespace HibpIngest.Testing;

public abstract class JournalBlobsContract
{
    /// <summary>Returns a container that doesn't exist yet.</summary>
    protected abstract Task<IJournalBlobs> NewContainerAsync();

    [Fact]
    public async Task Missing_container_has_no_blobs_and_refuses_writes()
    {
        var blobs = await NewContainerAsync();
        Assert.Empty(await ListAsync(blobs, ""));
        Assert.Null(await blobs.FindAsync("1/a", None));
        Assert.Null(await blobs.OpenAsync("1/a", 0, 10, None));
        await Assert.ThrowsAsync<HibpIngest.Errors.StoreMissingException>(() => blobs.WriteAsync("1/a", new byte[] { 1 }, None));
        await blobs.CreateAsync(None);
        await blobs.CreateAsync(None);
        Assert.Empty(await ListAsync(blobs, ""));
        Assert.Null(await blobs.FindAsync("1/a", None));
        Assert.Null(await blobs.OpenAsync("1/a", 0, 10, None));
        await blobs.DeleteAsync("1/a", None);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Blob_is_written_once_and_read_in_parts(bool upload)
    {
        var blobs = await NewContainerAsync();
        await blobs.CreateAsync(None);
        var content = new byte[3_000_000];
        new Random(14).NextBytes(content);
        Assert.True(await WriteAsync(blobs, "7/ab.alog", content, upload));
        Assert.False(await WriteAsync(blobs, "7/ab.alog", [1, 2, 3], upload));
        Assert.False(await WriteAsync(blobs, "7/ab.alog", content, upload));
        Assert.Equal(content.Length, await blobs.FindAsync("7/ab.alog", None));
        foreach (var (offset, length) in new[]
        {
            (0, content.Length), (0, 1), (12_345, 2_000_000), (content.Length - 1, 1), (content.Length - 5, 1_000), (content.Length, 10),
            (content.Length + 5, 10),
        })
        {
            var expected = content.Skip(offset).Take(length).ToArray();
            Assert.Equal(expected, await ReadAsync(blobs, "7/ab.alog", offset, length));
        }
        await blobs.DeleteAsync("7/ab.alog", None);
        await blobs.DeleteAsync("7/ab.alog", None);
        Assert.Null(await blobs.FindAsync("7/ab.alog", None));
        Assert.True(await WriteAsync(blobs, "7/ab.alog", [4], upload));
        Assert.Equal([4], await ReadAsync(blobs, "7/ab.alog", 0, 10));
    }

    [Fact]
    public async Task Blobs_are_listed_by_name_with_their_lengths()
    {
        var blobs = await NewContainerAsync();
        await blobs.CreateAsync(None);
        foreach (var name in new[] { "10/b.alog", "1/load.json", "1/a.0000000002.alog", "1/a.0000000001.alog", "2-x", "10/B.alog" })
            Assert.True(await blobs.WriteAsync(name, new byte[name.Length], None));
        Assert.Equal(
            ["1/a.0000000001.alog", "1/a.0000000002.alog", "1/load.json", "10/B.alog", "10/b.alog", "2-x"],
            (await ListAsync(blobs, "")).Select(blob => blob.Name));
        Assert.Equal(
            ["1/a.0000000001.alog", "1/a.0000000002.alog"], (await ListAsync(blobs, "1/a.")).Select(blob => blob.Name));
        Assert.All(await ListAsync(blobs, "1"), blob => Assert.Equal(blob.Name.Length, blob.Length));
        Assert.Empty(await ListAsync(blobs, "3"));
    }

    [Fact]
    public async Task Concurrent_writers_of_one_name_have_one_winner()
    {
        var blobs = await NewContainerAsync();
        await blobs.CreateAsync(None);
        var written = await Task.WhenAll(
            Enumerable.Range(1, 8).Select(
                i => Task.Run(() => WriteAsync(blobs, "1/one", [.. Enumerable.Repeat((byte)i, 100_000)], i % 2 == 0))));
        var winner = Array.IndexOf(written, true) + 1;
        Assert.Single(written, true);
        Assert.Equal(Enumerable.Repeat((byte)winner, 100_000), await ReadAsync(blobs, "1/one", 0, 200_000));
        Assert.Equal(["1/one"], (await ListAsync(blobs, "")).Select(blob => blob.Name));
    }

    [Fact]
    public async Task Interrupted_upload_leaves_no_blob_and_can_be_retried()
    {
        var blobs = await NewContainerAsync();
        await blobs.CreateAsync(None);
        var content = new byte[1_000];
        await Assert.ThrowsAnyAsync<Exception>(() => blobs.UploadAsync("1/a", new BrokenStream(content), None));
        using var stopped = new CancellationTokenSource();
        await stopped.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => blobs.UploadAsync("1/a", new MemoryStream(content), stopped.Token));
        Assert.Null(await blobs.FindAsync("1/a", None));
        Assert.Empty(await ListAsync(blobs, ""));
        Assert.True(await blobs.UploadAsync("1/a", new MemoryStream(content), None));
        Assert.Equal(content, await ReadAsync(blobs, "1/a", 0, 2_000));
    }

    private static async Task<List<JournalBlob>> ListAsync(IJournalBlobs blobs, string prefix) =>
        await blobs.ListAsync(prefix, None).ToListAsync();

    private static Task<bool> WriteAsync(IJournalBlobs blobs, string name, byte[] content, bool upload) => upload
        ? blobs.UploadAsync(name, new MemoryStream(content), None)
        : blobs.WriteAsync(name, content, None);

    private static async Task<byte[]> ReadAsync(IJournalBlobs blobs, string name, long offset, long length)
    {
        await using var stream = (await blobs.OpenAsync(name, offset, length, None))!;
        return (await BinaryData.FromStreamAsync(stream)).ToArray();
    }

    /// <summary>Returns half of the content, then fails.</summary>
    private sealed class BrokenStream(byte[] content) : MemoryStream(content, 0, content.Length / 2)
    {
        public override int Read(Span<byte> buffer) => base.Read(buffer) is > 0 and var read ? read : throw new IOException("interrupted");

        public override ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default) =>
            new(Read(buffer.Span));

        public override async Task CopyToAsync(Stream destination, int bufferSize, CancellationToken cancellationToken)
        {
            var buffer = new byte[bufferSize];
            while (true)
                await destination.WriteAsync(buffer.AsMemory(0, Read(buffer)), cancellationToken);
        }
    }
}
