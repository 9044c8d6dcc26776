using HibpIngest.Api.Lookup;

namespace HibpIngest.Tests.Lookup;

public sealed class CatalogueReaderTests
{
    private static readonly CancellationToken None = CancellationToken.None;

    /// <summary>The maximum time until a hidden breach disappears, according to docs/api.md.</summary>
    private static readonly TimeSpan HiddenWithin = TimeSpan.FromSeconds(10);

    private readonly TestClock _clock = TestClock.WithTimersByHand();
    private readonly MemoryCatalogue _blobs = new();
    private readonly CatalogueReader _reader;

    public CatalogueReaderTests() => _reader = new CatalogueReader(_blobs, _clock, NullLogger<CatalogueReader>.Instance);

    [Fact]
    public async Task A_request_drops_a_hidden_breach_in_time_without_background_revalidation()
    {
        _blobs.Publish("Alpha", "Beta");
        Assert.NotNull((await _reader.GetAsync(None)).Find("beta"));
        _blobs.Publish("Alpha");
        // As if the process had been suspended, so that no timer ran.
        _clock.Advance(HiddenWithin);
        Assert.Null((await _reader.GetAsync(None)).Find("Beta"));
    }

    [Fact]
    public async Task Background_revalidation_drops_a_hidden_breach_in_time_without_requests()
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
        Assert.True(CatalogueReader.RevalidateEvery * 3 < HiddenWithin);
    }

    [Fact]
    public async Task Changed_breach_details_are_returned_even_if_marks_and_version_stay()
    {
        _blobs.Publish("Alpha");
        await _reader.GetAsync(None);
        _blobs.RewriteBreaches([MemoryCatalogue.Breach("Alpha") with { LogoPath = "https://elsewhere.example/logos/Alpha.png" }]);
        _clock.Advance(HiddenWithin);
        Assert.Equal("https://elsewhere.example/logos/Alpha.png", (await _reader.GetAsync(None)).Find("Alpha")!.Model.LogoPath);
    }

    [Fact]
    public async Task A_fresh_catalogue_is_not_read_again()
    {
        _blobs.Publish("Alpha");
        var first = await _reader.GetAsync(None);
        _clock.Advance(CatalogueReader.RevalidateEvery);
        Assert.Same(first, await _reader.GetAsync(None));
        Assert.Equal(1, _blobs.Reads);
        // Revalidated, and found unchanged.
        _clock.Advance(HiddenWithin);
        Assert.Same(first, await _reader.GetAsync(None));
        Assert.Equal(2, _blobs.Reads);
    }

    [Fact]
    public async Task The_last_catalogue_is_returned_while_blobs_are_unavailable()
    {
        _blobs.Publish("Alpha");
        var read = await _reader.GetAsync(None);
        _blobs.IsDown = true;
        for (var i = 0; i < 3; i++)
        {
            _clock.Advance(HiddenWithin);
            Assert.Same(read, await _reader.GetAsync(None));
        }
        _blobs.IsDown = false;
        _blobs.Publish("Alpha", "Beta");
        _clock.Advance(HiddenWithin);
        Assert.NotNull((await _reader.GetAsync(None)).Find("Beta"));
    }

    [Fact]
    public async Task The_last_catalogue_is_returned_after_an_unexpected_error_which_is_logged_by_its_type()
    {
        var log = new CollectingLogger();
        var reader = new CatalogueReader(_blobs, _clock, log.For<CatalogueReader>());
        _blobs.Publish("Alpha");
        var read = await reader.GetAsync(None);
        _blobs.Gate = Task.FromException(new InvalidOperationException("private"));
        for (var i = 0; i < 2; i++)
        {
            _clock.Advance(HiddenWithin);
            Assert.Same(read, await reader.GetAsync(None));
        }
        var (_, line) = Assert.Single(log.Lines, line => line.Event == EventIds.CatalogueReaderDown);
        Assert.Contains(nameof(InvalidOperationException), line, StringComparison.Ordinal);
        Assert.DoesNotContain("private", line, StringComparison.Ordinal);
    }

    [Fact]
    public async Task The_last_catalogue_is_returned_if_blobs_never_respond()
    {
        _blobs.Publish("Alpha");
        var read = await _reader.GetAsync(None);
        _blobs.Gate = new TaskCompletionSource().Task;
        _clock.Advance(HiddenWithin);
        var request = _reader.GetAsync(None).AsTask();
        Assert.False(request.IsCompleted);
        _clock.Advance(HiddenWithin);
        Assert.Same(read, await request.WaitAsync(TimeSpan.FromSeconds(30)));
        // Only the first request waits for the failure.
        Assert.True(_reader.GetAsync(None).IsCompletedSuccessfully);
    }

    [Theory]
    [InlineData(false, "hibp catalogue publish")]
    [InlineData(true, "blobs are down")]
    public async Task A_catalogue_unpublished_or_unavailable_at_first_is_an_error_until_it_can_be_read(bool isDown, string expected)
    {
        _blobs.IsDown = isDown;
        var error = await Assert.ThrowsAsync<UnavailableException>(() => _reader.GetAsync(None).AsTask());
        Assert.Contains(expected, error.Message, StringComparison.Ordinal);
        _blobs.IsDown = false;
        _blobs.Publish("Alpha");
        Assert.NotNull((await _reader.GetAsync(None)).Find("Alpha"));
    }

    [Fact]
    public async Task Concurrent_requests_share_one_read()
    {
        _blobs.Publish("Alpha");
        var gate = new TaskCompletionSource();
        _blobs.Gate = gate.Task;
        var requests = Enumerable.Range(0, 50).Select(_ => _reader.GetAsync(None).AsTask()).ToList();
        gate.SetResult();
        Assert.Single((await Task.WhenAll(requests)).Distinct());
        Assert.Equal(1, _blobs.Reads);
    }

    [Fact]
    public async Task A_cancelled_request_does_not_cancel_the_others()
    {
        _blobs.Publish("Alpha");
        _blobs.Gate = new TaskCompletionSource().Task;
        using var cancellation = new CancellationTokenSource();
        var cancelled = _reader.GetAsync(cancellation.Token).AsTask();
        var other = _reader.GetAsync(None).AsTask();
        _blobs.Gate = Task.CompletedTask;
        await cancellation.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => cancelled);
        Assert.NotNull((await other).Find("Alpha"));
    }

    private Task NextRead()
    {
        var read = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        _blobs.OnRead = () => read.TrySetResult();
        return read.Task;
    }
}
