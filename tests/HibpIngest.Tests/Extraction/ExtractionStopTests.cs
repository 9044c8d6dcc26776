using HibpIngest.Pipeline.Ingest;
using HibpIngest.Pipeline.Settings;
using HibpIngest.Tests.AzureStorage;

namespace HibpIngest.Tests.Extraction;

/// <summary>Tests that stopping an extraction cancels everything it waits for.</summary>
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
        var load = new Load
        {
            Id = new(1),
            Breach = "Hangs",
            Blob = RangeServer.Version,
            State = LoadState.Ingesting,
            Settings = LoadStart.NewSettings(new IngestOptions { DedupeCap = 1_000 }),
            Checkpoint = new LoadCheckpoint(),
            StartedAt = DateTimeOffset.UnixEpoch,
        };
        var extraction = new AccountExtractor(await server.OpenAsync(), null, load, new DedupeSet(load.Settings.DedupeCap));
        extraction.Start();
        await hangs.Task.WaitAsync(Soon);

        await extraction.DisposeAsync().AsTask().WaitAsync(Soon);

        // The reader of the batches doesn't wait either.
        Assert.False(await extraction.Batches.WaitToReadAsync(CancellationToken.None).AsTask().WaitAsync(Soon));
    }
}
