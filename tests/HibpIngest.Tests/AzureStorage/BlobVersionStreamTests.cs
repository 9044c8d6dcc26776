using HibpIngest.Archives;

namespace HibpIngest.Tests.AzureStorage;

public sealed class BlobVersionStreamTests(ITestOutputHelper output)
{
    private const int MiB = 1 << 20;

    /// <summary>Makes 40 MiB in two thousand entries: more than is cached at once.</summary>
    private static RawZip Archive(Random random)
    {
        var zip = new RawZip();
        for (var i = 0; i < 2_000; i++)
        {
            var text = new byte[random.Next(42_000)];
            random.NextBytes(text);
            text.AsSpan().Replace((byte)'P', (byte)'Q');
            zip.Add(new RawZip.Entry($"{i}", text) { Method = 0 });
        }
        return zip;
    }

    private async Task<(int Ranges, long Bytes)> FetchAsync(byte[] content)
    {
        await using var server = await RangeServer.StartAsync(content);
        await using var stream = await server.OpenAsync();
        using var archive = BreachArchive.Open(stream, null, new ArchiveLimits());
        var count = 0;
        var buffer = new byte[512 * 1024];
        foreach (var text in archive.ReadFrom(default))
        {
            while (text.Content.Read(buffer) > 0)
                count++;
        }
        Assert.True(count >= 1_900);
        Assert.All(server.Fetched, range => Assert.Equal(server.ETag, range.IfMatch));
        var (ranges, bytes) = (server.Fetched.Count, server.Fetched.Sum(range => range.Bytes));
        output.WriteLine($"{bytes:N0} of {content.Length:N0} fetched in {ranges} ranges");
        return (ranges, bytes);
    }

    [Fact]
    public async Task Archive_in_random_order_is_read_with_few_surplus_bytes()
    {
        var random = new Random(7);
        var content = Archive(random).Shuffle(random).Finish();
        var (ranges, bytes) = await FetchAsync(content);
        Assert.InRange(bytes, content.Length, 3L * content.Length);
        // One fetch for an entry's beginning and one for its rest.
        Assert.InRange(ranges, 1, 2 * 2_000);
    }

    [Fact]
    public async Task Dispose_during_a_read_ends_it_without_wrong_bytes()
    {
        const int Seed = 9;
        var random = new Random(Seed);
        var content = new byte[12 * MiB];
        random.NextBytes(content);
        await using var server = await RangeServer.StartAsync(content);
        for (var round = 0; round < 30; round++)
        {
            var stream = await server.OpenAsync();
            var (seed, reads) = (random.Next(), random.Next(200));
            var enough = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            var reading = Task.Run(() => Record.Exception(() => ReadForever(stream, content, new Random(seed), reads, enough)));
            await Task.WhenAny(enough.Task, reading);
            await stream.DisposeAsync();
            var ended = await reading.WaitAsync(TimeSpan.FromSeconds(10));
            Assert.True(ended is OperationCanceledException or ObjectDisposedException, $"seed {Seed}, round {round}: {ended?.Message}");
        }
        Assert.All(server.Fetched, range => Assert.Equal(server.ETag, range.IfMatch));
    }

    private static void ReadForever(Stream stream, byte[] content, Random random, int reads, TaskCompletionSource enough)
    {
        var buffer = new byte[100_000];
        for (var i = 0; ; i++)
        {
            if (i == reads)
                enough.SetResult();
            var at = random.Next(content.Length);
            stream.Position = at;
            var read = stream.Read(buffer.AsSpan(0, random.Next(1, buffer.Length)));
            Assert.True(content.AsSpan(at, read).SequenceEqual(buffer.AsSpan(0, read)), $"wrong bytes at {at}");
        }
    }

    [Fact]
    public async Task Archive_in_order_is_read_ahead_in_large_ranges()
    {
        var content = Archive(new Random(8)).Finish();
        var (ranges, bytes) = await FetchAsync(content);
        Assert.InRange(bytes, content.Length, content.Length + (2 * MiB));
        Assert.InRange(ranges, content.Length / (4 * MiB), 35);
    }
}
