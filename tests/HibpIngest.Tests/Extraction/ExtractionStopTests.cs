using HibpIngest.Tests.AzureStorage;
using HibpIngest.Tests.Cli;

namespace HibpIngest.Tests.Extraction;

public sealed class ExtractionStopTests
{
    /// <summary>Far longer than stopping takes, and far shorter than the client's timeout for a silent connection.</summary>
    private static readonly TimeSpan Soon = TimeSpan.FromSeconds(10);

    /// <summary>The server hangs after this many responses: before the next one, or within it.</summary>
    [Theory]
    [InlineData(0, false)]
    [InlineData(0, true)]
    [InlineData(1, false)]
    [InlineData(1, true)]
    [InlineData(3, false)]
    [InlineData(3, true)]
    public async Task DisposeAsync_aborts_a_hanging_read(int responses, bool within)
    {
        var random = new Random(23);
        var zip = new RawZip();
        for (var i = 0; i < 40; i++)
        {
            var text = new byte[1 << 20];
            random.NextBytes(text);
            zip.Add(new RawZip.Entry($"{i}", text) { Method = 0 });
        }
        await using var server = await RangeServer.StartAsync(zip.Finish());
        var hangs = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        server.BeforeAsync = async (_, sent, aborted) =>
        {
            if (server.Fetched.Count <= responses || sent > 0 != within)
                return;
            hangs.TrySetResult();
            await Task.Delay(Timeout.InfiniteTimeSpan, aborted);
        };
        var load = StatusSamples.NewLoad(1, LoadState.Ingesting, DateTimeOffset.UnixEpoch);
        var extraction = new AccountExtractor(await server.OpenAsync(), null, load, new DedupeSet(cap: 1_000));
        extraction.Start();
        await hangs.Task.WaitAsync(Soon);

        await extraction.DisposeAsync().AsTask().WaitAsync(Soon);

        // The reader of the batches doesn't wait either.
        Assert.False(await extraction.Batches.WaitToReadAsync(CancellationToken.None).AsTask().WaitAsync(Soon));
        Assert.All(server.Fetched, range => Assert.Equal(server.ETag, range.IfMatch));
    }
}
