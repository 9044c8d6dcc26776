using HibpIngest.Api.AccessLog;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Tests.AccessLog;

public sealed class MemoryAccessBlobsTests : AccessBlobsContract
{
    protected override Task<IAccessBlobs> OpenAsync() => Task.FromResult<IAccessBlobs>(new MemoryAccessBlobs(TimeProvider.System));
}

public sealed class GroupCommitLogTests
{
    private const int Capacity = 1_000;

    private static readonly TimeSpan TestTimeout = TimeSpan.FromMinutes(1);
    private static readonly CancellationToken None = CancellationToken.None;

    private readonly TestClock _clock = TestClock.WithTimersByHand();
    private readonly MemoryAccessBlobs _memory;
    private readonly WatchedAccessBlobs _blobs;
    private readonly CollectingLogger _lines = new();

    public GroupCommitLogTests()
    {
        _memory = new MemoryAccessBlobs(_clock);
        _blobs = new WatchedAccessBlobs(_memory);
    }

    [Fact]
    public async Task Records_added_during_an_append_are_committed_together_by_the_next_one()
    {
        await using (var log = NewLog())
        {
            await log.AppendAsync(Record(0)); // creates the blob
            _blobs.Hold();
            var first = log.AppendAsync(Record(1)).AsTask();
            await _blobs.Begun;
            var others = Enumerable.Range(2, 500).Select(i => log.AppendAsync(Record(i)).AsTask()).ToList();
            Assert.All(others.Append(first), one => Assert.False(one.IsCompleted));
            var before = _blobs.Appends;
            _blobs.Release();
            await Task.WhenAll(others.Append(first));
            Assert.Equal(before + 2, _blobs.Appends);
        }
        await AssertHoldsAsync(502);
        var blob = Assert.Single(await _memory.ListAsync(None).ToListAsync());
        Assert.Equal(AccessBlobState.Sealed, blob.State);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_lost_response_is_resolved_before_the_next_append(bool wasWritten)
    {
        await using (var log = NewLog())
        {
            await log.AppendAsync(Record(0));
            _blobs.NextIsLost = wasWritten;
            await Assert.ThrowsAsync<AccessLogDownException>(() => log.AppendAsync(Record(1)).AsTask());
            await RecoverAsync(log);
        }
        var found = await AccessLogContents.ReadAsync(_memory);
        Assert.Equal([0, 1, 2], found.Select(one => one.Record.Microseconds));
        // The caller got a 503, and the record says so unless it had already been written.
        Assert.Equal([200, wasWritten ? 200 : 503, 200], found.Select(one => (int)one.Record.Status));
        AssertNumbered(found);
    }

    [Fact]
    public async Task An_outage_rejects_durable_records_and_buffers_the_others_up_to_the_capacity()
    {
        await using (var log = NewLog())
        {
            await log.AppendAsync(Record(0));
            _blobs.IsDown = true;
            await Assert.ThrowsAsync<AccessLogDownException>(() => log.AppendAsync(Record(1)).AsTask());
            Assert.Throws<AccessLogDownException>(() => { _ = log.AppendAsync(Record(2)); });
            for (var i = 3; i < Capacity + 10; i++)
                log.Add(Record(i));
            Assert.Equal(9, log.NotLogged);
            Assert.Throws<AccessLogDownException>(() => { _ = log.AppendAsync(Record(Capacity + 10)); });
            Assert.Equal(10, log.NotLogged);
            _blobs.IsDown = false;
            await RecoverAsync(log);
            Assert.Equal(10, log.NotLogged);
        }
        var found = await AccessLogContents.ReadAsync(_memory);
        Assert.Equal(Enumerable.Range(0, Capacity + 1), found.Select(one => (int)one.Record.Microseconds).Order().Distinct());
        // The length of a response that was never sent is unknown.
        Assert.All(found.Skip(1).Take(2), one => Assert.Equal((503, AccessRecord.UnknownBytes), (one.Record.Status, one.Record.Bytes)));
        AssertLogged((EventIds.AccessLogDown, ""), (EventIds.AccessLogUp, "10 requests were not logged"));
        AssertNumbered(found);
    }

    [Fact]
    public async Task A_slow_store_delays_durable_records_and_drops_others_once_the_buffer_is_full()
    {
        await using (var log = NewLog())
        {
            await log.AppendAsync(Record(0));
            _blobs.Hold();
            var waiting = Enumerable.Range(1, 3 * Capacity).Select(i => log.AppendAsync(Record(i)).AsTask()).ToList();
            await _blobs.Begun;
            log.Add(Record(-1));
            Assert.Equal(1, log.NotLogged);
            _blobs.Release();
            await Task.WhenAll(waiting);
        }
        await AssertHoldsAsync((3 * Capacity) + 1);
        AssertLogged((EventIds.AccessLogFull, "1 requests were not logged"));
    }

    [Fact]
    public async Task A_blob_sealed_or_deleted_by_another_process_is_replaced()
    {
        await using (var log = NewLog())
        {
            await log.AppendAsync(Record(0));
            var blob = (await _memory.ListAsync(None).SingleAsync())!;
            await _memory.AppendAsync(blob.Name, blob.Bytes, AccessFrame.End(Guid.NewGuid()), None);
            await log.AppendAsync(Record(1));
            await _memory.DeleteAsync((await _memory.ListAsync(None).LastAsync()).Name, None);
            await log.AppendAsync(Record(2));
        }
        var found = await AccessLogContents.ReadAsync(_memory);
        Assert.Equal([0, 2], found.Select(one => one.Record.Microseconds));
        Assert.Equal(2, await _memory.ListAsync(None).CountAsync());
    }

    [Fact]
    public async Task A_blob_is_sealed_before_it_reaches_the_block_limit()
    {
        var writer = new AccessBlobWriter(_memory, Guid.NewGuid(), ["(none)"], _clock);
        for (var i = 0; i < AccessBlobWriter.MaxBlocks; i++)
            await writer.AppendAsync(AccessFrame.End(Guid.NewGuid()), None);
        var blobs = await _memory.ListAsync(None).ToListAsync();
        Assert.Equal(2, blobs.Count);
        Assert.Equal(AccessBlobState.Sealed, blobs[0].State);
    }

    [Fact]
    public async Task Disposal_during_an_outage_gives_up_after_a_timeout_and_logs_the_loss()
    {
        var log = NewLog();
        await log.AppendAsync(Record(0));
        _blobs.IsDown = true;
        for (var i = 1; i <= Capacity + 5; i++)
            log.Add(Record(i));
        var ended = log.DisposeAsync().AsTask();
        await _clock.AdvanceUntilAsync(ended, TimeSpan.FromSeconds(1));
        await ended;
        Assert.Equal(Capacity + 5, log.NotLogged);
        await AssertHoldsAsync(1);
        AssertLogged((EventIds.AccessLogDown, ""), (EventIds.AccessLogLost, $"{Capacity + 5} of the requests"));
    }

    [Fact]
    public async Task Each_hour_has_its_own_blob_and_appends_do_not_wait_until_the_previous_one_is_sealed()
    {
        var finding = new TaskCompletionSource();
        await using (var log = NewLog())
        {
            await log.AppendAsync(Record(0));
            _clock.Advance(TimeSpan.FromHours(1));
            _blobs.Finding = finding.Task;
            await log.AppendAsync(Record(1)).AsTask().WaitAsync(TestTimeout);
            await log.AppendAsync(Record(2)).AsTask().WaitAsync(TestTimeout);
            finding.SetResult();
        }
        var blobs = await _memory.ListAsync(None).ToListAsync();
        Assert.Equal([AccessBlobState.Sealed, AccessBlobState.Sealed], blobs.Select(blob => blob.State));
        Assert.Equal(TimeSpan.FromHours(1), AccessBlobName.HourOf(blobs[1].Name) - AccessBlobName.HourOf(blobs[0].Name));
        await AssertHoldsAsync(3);
    }

    [Fact]
    public async Task Add_allocates_nothing_per_record()
    {
        await using var log = NewLog();
        _blobs.Hold();
        log.Add(Record(0));
        await _blobs.Begun;
        for (var i = 0; i < Capacity / 2; i++)
            log.Add(Record(i)); // the buffer grows
        Assert.Equal(0, Allocations.Of(() => log.Add(Record(1))));
        _blobs.Release();
    }

    private GroupCommitLog NewLog() => new(_blobs.Port, ["(none)", "/a"], Capacity, _clock, _lines.For<GroupCommitLog>());

    private void AssertLogged(params (int Event, string Text)[] expected)
    {
        Assert.Equal(expected.Select(one => one.Event), _lines.Lines.Select(line => line.Event));
        Assert.All(expected.Zip(_lines.Lines), one => Assert.Contains(one.First.Text, one.Second.Text, StringComparison.Ordinal));
    }

    private static AccessRecord Record(int i) => new(i, 1, 2, 3, 1, 200, ClientKind.Other);

    /// <summary>Advances the clock until the log has recovered, then appends a record.</summary>
    private async Task RecoverAsync(GroupCommitLog log)
    {
        while (log.IsDown)
        {
            _clock.Advance(TimeSpan.FromSeconds(1));
            await Task.Yield();
        }
        await log.AppendAsync(Record(2));
    }

    private async Task AssertHoldsAsync(int records)
    {
        var found = await AccessLogContents.ReadAsync(_memory);
        Assert.Equal(Enumerable.Range(0, records), found.Select(one => (int)one.Record.Microseconds).Order());
        AssertNumbered(found);
    }

    private static void AssertNumbered(IReadOnlyList<FoundRecord> found)
    {
        Assert.Equal(Enumerable.Range(0, found.Count).Select(i => (ulong)i), found.Select(one => one.Number));
        Assert.Single(found.Select(one => one.Instance).Distinct());
    }
}
