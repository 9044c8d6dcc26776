namespace HibpIngest.Testing;

public abstract class BreachBlobsContract
{
    private const int MiB = 1024 * 1024;

    /// <summary>Returns an existing, empty container.</summary>
    protected abstract Task<IBreachBlobs> NewContainerAsync();

    [Fact]
    public async Task Drops_are_listed_with_the_version_that_opens_them()
    {
        var blobs = await NewContainerAsync();
        await blobs.CreateAsync(None);
        string[] names = ["b.ZIP", "a.json", "a.png", "a.zip", "dir/c d+e.2.zip", "e.json.gz", "f.7z", "zip", "zip.csv/readme"];
        foreach (var name in names)
            await blobs.WriteSmallAsync(name, "content of "u8.ToArray(), None);

        var listed = await ListAsync(blobs);
        Assert.Equal(["a.zip", "b.ZIP", "dir/c d+e.2.zip", "e.json.gz"], listed.Select(blob => blob.Version.Name));
        foreach (var blob in listed)
        {
            Assert.Equal(blob, await blobs.FindAsync(blob.Version.Name, None));
            Assert.Equal(11, blob.Length);
            await using var stream = await blobs.OpenAsync(blob.Version, None);
            Assert.Equal("content of "u8.ToArray(), (await BinaryData.FromStreamAsync(stream)).ToArray());
        }

        Assert.Null(await blobs.FindAsync("missing.zip", None));
    }

    [Fact]
    public async Task Small_blobs_are_written_replaced_and_read_up_to_a_limit()
    {
        var blobs = await NewContainerAsync();
        Assert.Null(await blobs.ReadSmallAsync("a.json", 10, None));
        await blobs.WriteSmallAsync("a.json", "first"u8.ToArray(), None);
        await blobs.WriteSmallAsync("a.json", "0123456789"u8.ToArray(), None);
        Assert.Equal("0123456789"u8.ToArray(), await blobs.ReadSmallAsync("a.json", 10, None));
        await Assert.ThrowsAsync<BadInputException>(() => blobs.ReadSmallAsync("a.json", 9, None));
        await blobs.WriteSmallAsync("empty", ReadOnlyMemory<byte>.Empty, None);
        Assert.Empty((await blobs.ReadSmallAsync("empty", 10, None))!);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(8 * MiB)]
    [InlineData((21 * MiB) + 17)]
    public async Task Upload_is_read_back_unchanged(int bytes)
    {
        var content = Random(bytes);
        var blobs = await NewContainerAsync();
        var reported = new Reported();
        var version = await blobs.UploadAsync("a.zip", new MemoryStream(content), reported, None);
        Assert.Equal(version, (await blobs.FindAsync("a.zip", None))!.Version);
        Assert.Equal(bytes, reported.Highest);
        await using var stream = await blobs.OpenAsync(version, None);
        Assert.Equal(bytes, stream.Length);
        Assert.Equal(SHA256.HashData(content), await SHA256.HashDataAsync(stream));
    }

    [Fact]
    public async Task Reads_at_random_positions_return_the_right_bytes()
    {
        const int Seed = 4711;
        var content = Random((13 * MiB) + 5);
        var blobs = await NewContainerAsync();
        var version = await blobs.UploadAsync("a.zip", new MemoryStream(content), null, None);
        await using var stream = await blobs.OpenAsync(version, None);
        var random = new Random(Seed);
        var buffer = new byte[300_000];
        for (var i = 0; i < 200; i++)
        {
            var at = random.Next(content.Length + 1);
            var length = random.Next(1, i % 10 == 0 ? buffer.Length : 600);
            if (i % 3 == 0)
                Assert.Equal(at, stream.Seek(at - stream.Length, SeekOrigin.End));
            else
                stream.Position = at;
            var read = i % 2 == 0 ? stream.ReadAtLeast(buffer.AsSpan(0, length), length, false)
                : await stream.ReadAtLeastAsync(buffer.AsMemory(0, length), length, false);
            Assert.True(
                content.AsSpan(at, Math.Min(length, content.Length - at))
                .SequenceEqual(buffer.AsSpan(0, read)), $"seed {Seed}, read {i} at {at}");
        }

        stream.Position = content.Length + 10L;
        Assert.Equal(0, await stream.ReadAsync(buffer));
    }

    [Fact]
    public async Task Opening_or_reading_a_replaced_or_missing_version_throws_superseded()
    {
        var blobs = await NewContainerAsync();
        var old = await blobs.UploadAsync("a.zip", new MemoryStream(Random(10 * MiB)), null, None);
        await using var stream = await blobs.OpenAsync(old, None);
        Assert.Equal(1, await stream.ReadAsync(new byte[1]));

        var current = await blobs.UploadAsync("a.zip", new MemoryStream(Random(10 * MiB)), null, None);
        Assert.NotEqual(old, current);
        stream.Position = 6 * MiB;
        await Assert.ThrowsAsync<BlobSupersededException>(() => stream.ReadExactlyAsync(new byte[1]).AsTask());
        Assert.Throws<BlobSupersededException>(() => stream.Read(new byte[1], 0, 1));
        await Assert.ThrowsAsync<BlobSupersededException>(() => blobs.OpenAsync(old, None));
        await Assert.ThrowsAsync<BlobSupersededException>(() => blobs.OpenAsync(new BlobVersion("missing.zip", old.ETag), None));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Interrupted_upload_shows_no_blob_and_can_be_completed_or_followed_by_another(bool isCompleted)
    {
        var content = Random(34 * MiB);
        var blobs = await NewContainerAsync();
        var broken = new BreakingStream(content, 25 * MiB);
        await Assert.ThrowsAsync<IOException>(() => blobs.UploadAsync("a.zip", broken, null, None));
        Assert.Null(await blobs.FindAsync("a.zip", None));
        Assert.Empty(await ListAsync(blobs));

        if (!isCompleted)
            content = Random(20 * MiB);
        var progress = new Reported();
        await blobs.UploadAsync("a.zip", new MemoryStream(content), progress, None);
        Assert.Equal(content.Length, progress.Highest);
        var found = (await blobs.FindAsync("a.zip", None))!;
        await using var stream = await blobs.OpenAsync(found.Version, None);
        Assert.Equal(SHA256.HashData(content), await SHA256.HashDataAsync(stream));
        // The hash covers the whole content, including the blocks that were uploaded before.
        Assert.Equal(Convert.ToHexStringLower(SHA256.HashData(content)), found.Sha256);
        Assert.Equal(found, Assert.Single(await ListAsync(blobs)));
        await blobs.WriteSmallAsync("a.zip", new byte[1], None);
        Assert.Null(Assert.Single(await ListAsync(blobs)).Sha256);
    }

    protected static byte[] Random(int bytes) => RandomNumberGenerator.GetBytes(bytes);

    protected static async Task<List<BreachBlob>> ListAsync(IBreachBlobs blobs) => await blobs.ListDropsAsync(None).ToListAsync();

    protected sealed class Reported : IProgress<long>
    {
        private long _highest;

        public long Highest => _highest;

        public void Report(long value)
        {
            var seen = Volatile.Read(ref _highest);
            while (value > seen && Interlocked.CompareExchange(ref _highest, value, seen) != seen)
                seen = Volatile.Read(ref _highest);
        }
    }

    protected sealed class BreakingStream(byte[] content, int breaksAt) : MemoryStream(content)
    {
        public override async ValueTask<int> ReadAsync(Memory<byte> destination, CancellationToken cancellationToken = default)
        {
            if (Position >= breaksAt)
                throw new IOException("the disk failed");
            return await base.ReadAsync(destination[..(int)Math.Min(destination.Length, breaksAt - Position)], cancellationToken);
        }
    }
}
