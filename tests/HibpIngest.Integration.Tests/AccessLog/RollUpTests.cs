using Azure.Storage.Blobs;
using HibpIngest.Api.AccessLog;
using HibpIngest.Api.AccessLog.RollUp;

namespace HibpIngest.Integration.Tests.AccessLog;

/// <summary>Tests that each logged request is counted once despite crashes and repeats, and that blobs are deleted when allowed.</summary>
public sealed class RollUpTests(ITestOutputHelper output)
{
    [Fact]
    public async Task Duplicate_and_concurrent_messages_count_each_record_once()
    {
        using var rig = await AccessRig.StartAsync(output.WriteLine);
        for (var i = 0; i < 4; i++)
            await rig.LogAndEndAsync(2_000);
        await rig.NewSweep().RunAsync(None);
        var bodies = await rig.ClaimAsync();
        Assert.Equal(4, bodies.Count);
        await Parallel.ForEachAsync(
            bodies.Concat(bodies), new ParallelOptions { MaxDegreeOfParallelism = 8 },
            async (body, token) => await rig.NewRollUp().RunAsync(body, token));
        await rig.AssertCountedAsync();
        // And again much later.
        foreach (var body in bodies)
            await rig.NewRollUp().RunAsync(body, None);
        await rig.AssertCountedAsync();
        Assert.All(await rig.BlobsAsync(), blob => Assert.Equal(AccessBlobState.Counted, blob.State));
        rig.Clock.Advance(TimeSpan.FromDays(2));
        Assert.Empty(await rig.SweepAndCountAsync());
    }

    [Fact]
    public async Task Message_of_a_deleted_or_open_blob_changes_nothing()
    {
        using var rig = await AccessRig.StartAsync(output.WriteLine);
        await rig.NewRollUp().RunAsync(new AccessMessage("2026112210/gone-00001.log"), None);
        await using (var process = rig.NewProcess())
        {
            await rig.LogAsync(process, 10);
            var blob = Assert.Single(await rig.BlobsAsync());
            await rig.NewRollUp().RunAsync(new AccessMessage(blob.Name), None);
            Assert.Equal(AccessBlobState.Open, Assert.Single(await rig.BlobsAsync()).State);
            // A process doesn't count as dead within the hour.
            Assert.Empty(await rig.SweepAndCountAsync());
        }
        await rig.SweepAndCountAsync();
        await rig.AssertCountedAsync();
        foreach (var body in (string[])["", "null", "{}", "{\"blob\":\"\"}", "[1]"])
            await Assert.ThrowsAsync<UnreadableMessageException>(() => rig.NewRollUp().RunAsync(body, None));
    }

    [Fact]
    public async Task Blob_that_the_store_refuses_does_not_block_the_others()
    {
        using var rig = await AccessRig.StartAsync(output.WriteLine);
        // A blob restored as another blob type, to which nothing can be appended.
        var container = new BlobContainerClient(rig.Connection, IAccessBlobs.Container);
        await container.GetBlobClient("2020010100/restored-00001.log").UploadAsync(new BinaryData("x"));
        rig.Clock.Advance(SweepAccessLog.GoneAfter);
        await rig.LogAndEndAsync(100);
        Assert.Single(await rig.SweepAndCountAsync());
        await rig.AssertCountedAsync();
        Assert.Contains(
            rig.Said.Lines,
            line => line.Event == EventIds.SweepAccessRefused && line.Text.Contains("2020010100/restored", StringComparison.Ordinal));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Roll_up_interrupted_at_any_call_is_completed_by_the_next_run(bool isCarriedOut)
    {
        using var rig = await AccessRig.StartAsync(output.WriteLine);
        var abandoned = new List<GroupCommitLog>();
        var calls = 0;
        for (var at = 1; calls == 0; at++)
        {
            // One blob of a process that ended normally, and one of a process that died.
            await rig.LogAndEndAsync(150);
            abandoned.Add(rig.NewProcess());
            await rig.LogAsync(abandoned[^1], 50);
            rig.Clock.Advance(TimeSpan.FromHours(2));

            var point = new CrashPoint(at, isCarriedOut);
            try
            {
                await rig.NewSweep(null, point.Wrap(rig.Account.AccessLog), point.Wrap(rig.Queue)).RunAsync(None);
                foreach (var body in await rig.ClaimAsync())
                    await rig.NewRollUp(point.Wrap(rig.Account.AccessLog), point.Wrap(rig.Account.Usage)).RunAsync(body, None);
                calls = point.Calls;
            }
            catch (CrashException)
            {
                // Losing the messages it had received is worse than a real crash.
                await rig.ClaimAsync();
            }
            rig.Clock.Advance(TimeSpan.FromHours(6));
            await rig.SweepAndCountAsync();
            await rig.AssertCountedAsync();
            Assert.All(await rig.BlobsAsync(), blob => Assert.Equal(AccessBlobState.Counted, blob.State));
        }
        output.WriteLine($"{calls} calls");
        Assert.InRange(calls, 12, 40);
        foreach (var process in abandoned)
            await process.DisposeAsync();
    }

    [Fact]
    public async Task Slow_process_taken_for_dead_continues_in_another_blob()
    {
        using var rig = await AccessRig.StartAsync(output.WriteLine);
        await using (var slow = rig.NewProcess())
        {
            await rig.LogAsync(slow, 100);
            var blob = Assert.Single(await rig.BlobsAsync());
            var over = AccessBlobName.HourOf(blob.Name)!.Value.AddHours(1);
            // Not before its hour ended that long ago.
            rig.Clock.Advance(over + SweepAccessLog.GoneAfter - rig.Clock.GetUtcNow() - TimeSpan.FromMinutes(1));
            Assert.Empty(await rig.SweepAndCountAsync());
            Assert.Equal(AccessBlobState.Open, Assert.Single(await rig.BlobsAsync()).State);
            rig.Clock.Advance(TimeSpan.FromMinutes(2));
            Assert.Single(await rig.SweepAndCountAsync());
            await rig.AssertCountedAsync();

            await rig.LogAsync(slow, 100);
            Assert.Equal(2, (await rig.BlobsAsync()).Count);
        }
        await rig.SweepAndCountAsync();
        await rig.AssertCountedAsync();
        Assert.Equal([AccessBlobState.Counted, AccessBlobState.Counted], (await rig.BlobsAsync()).Select(blob => blob.State));
    }

    [Fact]
    public async Task Old_blob_that_was_just_written_to_stays_open()
    {
        using var rig = await AccessRig.StartAsync(output.WriteLine);
        var now = TimeProvider.System.GetUtcNow();
        var name = AccessBlobName.Of(now.AddHours(-5), Guid.NewGuid(), 1);
        await rig.Account.AccessLog.BeginAsync(name, None);
        await rig.Account.AccessLog.AppendAsync(name, 0, new byte[] { 1 }, None);
        await rig.NewSweep(time: TimeProvider.System).RunAsync(None);
        Assert.Equal((AccessBlobState.Open, 1), Assert.Single((await rig.BlobsAsync()).Select(blob => (blob.State, blob.Bytes))));
    }

    [Fact]
    public async Task Process_that_writes_while_its_blob_is_being_sealed_keeps_the_blob()
    {
        using var rig = await AccessRig.StartAsync(output.WriteLine);
        await using (var process = rig.NewProcess())
        {
            await rig.LogAsync(process, 10);
            rig.Clock.Advance(TimeSpan.FromHours(2));
            // Between the listing and the seal, like a process in the middle of an append.
            var blobs = PortProxy<IAccessBlobs>.Create(rig.Account.AccessLog, async method =>
            {
                if (method != nameof(IAccessBlobs.AppendAsync))
                    return;
                rig.Clock.Advance(TimeSpan.FromHours(-2));
                await rig.LogAsync(process, 10);
                rig.Clock.Advance(TimeSpan.FromHours(2));
            });
            await rig.NewSweep(null, blobs).RunAsync(None);
            Assert.Equal(AccessBlobState.Open, Assert.Single(await rig.BlobsAsync()).State);
            Assert.Empty(await rig.ClaimAsync());
        }
        await rig.SweepAndCountAsync();
        await rig.AssertCountedAsync();
    }

    [Fact]
    public async Task Empty_blob_is_deleted_unless_it_is_written_to_concurrently()
    {
        using var rig = await AccessRig.StartAsync(output.WriteLine);
        var (log, hour) = (rig.Account.AccessLog, rig.Clock.GetUtcNow());
        var (empty, begun) = (AccessBlobName.Of(hour, Guid.NewGuid(), 1), AccessBlobName.Of(hour, Guid.NewGuid(), 1));
        Assert.True(await log.BeginAsync(empty, None) && await log.BeginAsync(begun, None));
        await rig.SweepAndCountAsync();
        Assert.Equal(2, (await rig.BlobsAsync()).Count);

        rig.Clock.Advance(TimeSpan.FromHours(2));
        var written = false;
        var blobs = PortProxy<IAccessBlobs>.Create(log, async method =>
        {
            if (method != nameof(IAccessBlobs.AppendAsync) || written)
                return;
            written = true;
            Assert.Equal(BlockAppend.Appended, await log.AppendAsync(begun, 0, new byte[] { 1 }, None));
        });
        await rig.NewSweep(null, blobs).RunAsync(None);
        Assert.Equal(begun, Assert.Single(await rig.BlobsAsync()).Name);
        // Its process finds the blob deleted, and continues in another.
        Assert.Equal(BlockAppend.NoBlob, await log.AppendAsync(empty, 0, new byte[] { 1 }, None));
    }

    [Fact]
    public async Task Counted_blobs_are_deleted_after_the_retention_period_and_their_counts_stay()
    {
        using var rig = await AccessRig.StartAsync(output.WriteLine);
        await rig.LogAndEndAsync(100);
        await rig.SweepAndCountAsync();
        await rig.LogAndEndAsync(100);
        Assert.True(await rig.Account.AccessLog.BeginAsync("somebody-elses.log", None));
        var kept = TimeSpan.FromDays(30);
        // The rig's clock is up to an hour ahead of the service's, which sets a blob's modification time.
        rig.Clock.Advance(kept - TimeSpan.FromHours(3));
        await rig.NewSweep(kept).RunAsync(None);
        Assert.Equal(3, (await rig.BlobsAsync()).Count);
        rig.Clock.Advance(TimeSpan.FromHours(4));
        await rig.NewSweep(keptFor: null).RunAsync(None);
        Assert.Equal(3, (await rig.BlobsAsync()).Count);
        await rig.NewSweep(kept).RunAsync(None);
        // Uncounted blobs stay, and so do blobs of other origin.
        Assert.Equal(
            [AccessBlobState.Open, AccessBlobState.Sealed], (await rig.BlobsAsync()).Select(blob => blob.State).Order());
        foreach (var body in await rig.ClaimAsync())
            await rig.NewRollUp().RunAsync(body, None);
        await rig.AssertCountedAsync();
    }

    [Fact]
    public async Task Uncounted_blob_gets_another_message_less_often_the_older_it_is()
    {
        using var rig = await AccessRig.StartAsync(output.WriteLine);
        await rig.LogAndEndAsync(10);
        await SweepAndLoseAsync(1);
        await SweepAndLoseAsync(0);
        rig.Clock.Advance(SweepAccessLog.SendAgainAfter);
        await SweepAndLoseAsync(1);
        rig.Clock.Advance(TimeSpan.FromDays(3));
        await SweepAndLoseAsync(1);
        rig.Clock.Advance(SweepAccessLog.LateAfter - TimeSpan.FromMinutes(1));
        await SweepAndLoseAsync(0);
        rig.Clock.Advance(TimeSpan.FromMinutes(2));
        Assert.Single(await rig.SweepAndCountAsync());
        await rig.AssertCountedAsync();

        async Task SweepAndLoseAsync(int messages)
        {
            await rig.NewSweep().RunAsync(None);
            Assert.Equal(messages, (await rig.ClaimAsync()).Count);
        }
    }

    [Theory]
    [InlineData(1, true)] // a bit of the routes
    [InlineData(0, true)] // the start of a frame
    [InlineData(0, false)] // truncated
    public async Task Damaged_blob_is_not_counted_and_is_named_in_the_error(int at, bool isChanged)
    {
        using var rig = await AccessRig.StartAsync(output.WriteLine);
        await rig.LogAndEndAsync(300);
        var good = Assert.Single(await rig.BlobsAsync());
        using var copied = new MemoryStream();
        await using (var content = (await rig.Account.AccessLog.OpenAsync(good.Name, 0, None))!)
            await content.CopyToAsync(copied);
        var bytes = copied.ToArray();
        if (isChanged)
            bytes[at * (AccessFrame.HeaderBytes + 5)] ^= 4;
        else
            bytes = bytes[..^(AccessFrame.HeaderBytes + 1)];
        var bad = AccessBlobName.Of(rig.Clock.GetUtcNow(), Guid.NewGuid(), 1);
        await rig.Account.AccessLog.BeginAsync(bad, None);
        await rig.Account.AccessLog.AppendAsync(bad, 0, bytes, None);
        await rig.Account.AccessLog.MarkAsync(
            (await rig.Account.AccessLog.FindAsync(bad, None))!, AccessBlobState.Sealed, null, None);
        var error = await Assert.ThrowsAsync<StoreMismatchException>(
            () => rig.NewRollUp().RunAsync(new AccessMessage(bad), None));
        Assert.Contains(bad, error.Message, StringComparison.Ordinal);
        await rig.NewRollUp().RunAsync(new AccessMessage(good.Name), None);
        await rig.AssertCountedAsync();
    }
}
