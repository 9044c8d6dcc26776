using HibpIngest.Api.Lookup;
using Microsoft.Extensions.Logging.Abstractions;

namespace HibpIngest.Tests.Lookup;

/// <summary>Tests how fresh the catalogue in memory is, and its behaviour while blobs are unavailable.</summary>
public sealed class CatalogueReaderTests
{
    private static readonly CancellationToken None = CancellationToken.None;

    /// <summary>How soon a hidden breach disappears, according to docs/api.md.</summary>
    private static readonly TimeSpan OutWithin = TimeSpan.FromSeconds(10);

    private readonly TestClock _clock = TestClock.WithTimersByHand();
    private readonly MemoryCatalogue _blobs = new();
    private readonly CatalogueReader _reader;

    public CatalogueReaderTests() => _reader = new CatalogueReader(_blobs, _clock, NullLogger<CatalogueReader>.Instance);

    [Fact]
    public async Task A_hidden_breach_is_out_in_time_where_nobody_revalidates()
    {
        _blobs.Publish("Alpha", "Beta");
        Assert.NotNull((await _reader.GetAsync(None)).Find("beta"));
        _blobs.Publish("Alpha");
        // As if the process had been suspended, so that no timer ran.
        _clock.Advance(OutWithin);
        Assert.Null((await _reader.GetAsync(None)).Find("Beta"));
    }

    [Fact]
    public async Task A_hidden_breach_is_out_in_time_where_nobody_asks()
    {
        _blobs.Publish("Alpha", "Beta");
        await _reader.GetAsync(None);
        using var stop = new CancellationTokenSource();
        var first = NextRead();
        var running = _reader.RunAsync(stop.Token);
        await first;
        _blobs.Publish("Alpha");
        var next = NextRead();
        // Its timer is set after its first read.
        await _clock.AdvanceUntilAsync(next, CatalogueReader.RevalidateEvery);
        await stop.CancelAsync();
        await running;
        Assert.Null((await _reader.GetAsync(None)).Find("Beta"));
        Assert.True(CatalogueReader.RevalidateEvery * 3 < OutWithin);
    }

    [Fact]
    public async Task What_is_told_may_change_while_marks_and_version_stay()
    {
        _blobs.Publish("Alpha");
        await _reader.GetAsync(None);
        _blobs.Retell([MemoryCatalogue.Breach("Alpha") with { LogoPath = "https://elsewhere.example/logos/Alpha.png" }]);
        _clock.Advance(OutWithin);
        Assert.Equal(
            "https://elsewhere.example/logos/Alpha.png", (await _reader.GetAsync(None)).Find("Alpha")!.Model.LogoPath);
    }

    [Fact]
    public async Task It_is_not_read_again_while_it_is_fresh()
    {
        _blobs.Publish("Alpha");
        var first = await _reader.GetAsync(None);
        _clock.Advance(CatalogueReader.RevalidateEvery);
        Assert.Same(first, await _reader.GetAsync(None));
        Assert.Equal(1, _blobs.Reads);
        // Revalidated, and found unchanged.
        _clock.Advance(OutWithin);
        Assert.Same(first, await _reader.GetAsync(None));
        Assert.Equal(2, _blobs.Reads);
    }

    [Fact]
    public async Task While_blobs_are_down_what_was_read_last_counts_on()
    {
        _blobs.Publish("Alpha");
        var read = await _reader.GetAsync(None);
        _blobs.IsDown = true;
        for (var i = 0; i < 3; i++)
        {
            _clock.Advance(OutWithin);
            Assert.Same(read, await _reader.GetAsync(None));
        }
        _blobs.IsDown = false;
        _blobs.Publish("Alpha", "Beta");
        _clock.Advance(OutWithin);
        Assert.NotNull((await _reader.GetAsync(None)).Find("Beta"));
    }

    [Fact]
    public async Task Blobs_that_never_answer_are_blobs_that_are_down()
    {
        _blobs.Publish("Alpha");
        var read = await _reader.GetAsync(None);
        _blobs.Gate = new TaskCompletionSource().Task;
        _clock.Advance(OutWithin);
        var asked = _reader.GetAsync(None).AsTask();
        Assert.False(asked.IsCompleted);
        _clock.Advance(OutWithin);
        Assert.Same(read, await asked.WaitAsync(TimeSpan.FromSeconds(30)));
        // Only the first request waits for the failure.
        Assert.True(_reader.GetAsync(None).IsCompletedSuccessfully);
    }

    [Fact]
    public async Task One_that_was_never_published_is_no_empty_one()
    {
        var error = await Assert.ThrowsAsync<StoreUnavailableException>(() => _reader.GetAsync(None).AsTask());
        Assert.Contains("hibp catalogue publish", error.Message, StringComparison.Ordinal);
        _blobs.Publish("Alpha");
        Assert.NotNull((await _reader.GetAsync(None)).Find("Alpha"));
    }

    [Fact]
    public async Task One_that_could_not_be_read_yet_is_read_when_it_can_be()
    {
        _blobs.Publish("Alpha");
        _blobs.IsDown = true;
        await Assert.ThrowsAsync<StoreUnavailableException>(() => _reader.GetAsync(None).AsTask());
        _blobs.IsDown = false;
        Assert.NotNull((await _reader.GetAsync(None)).Find("Alpha"));
    }

    [Fact]
    public async Task Those_who_ask_at_once_share_one_read()
    {
        _blobs.Publish("Alpha");
        var gate = new TaskCompletionSource();
        _blobs.Gate = gate.Task;
        var asked = Enumerable.Range(0, 50).Select(_ => _reader.GetAsync(None).AsTask()).ToList();
        gate.SetResult();
        Assert.Single((await Task.WhenAll(asked)).Distinct());
        Assert.Equal(1, _blobs.Reads);
    }

    [Fact]
    public async Task Who_leaves_takes_nobody_elses_answer_along()
    {
        _blobs.Publish("Alpha");
        _blobs.Gate = new TaskCompletionSource().Task;
        using var leaving = new CancellationTokenSource();
        var left = _reader.GetAsync(leaving.Token).AsTask();
        var stayed = _reader.GetAsync(None).AsTask();
        _blobs.Gate = Task.CompletedTask;
        await leaving.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => left);
        Assert.NotNull((await stayed).Find("Alpha"));
    }

    private Task NextRead()
    {
        var read = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        _blobs.OnRead = () => read.TrySetResult();
        return read.Task;
    }
}
