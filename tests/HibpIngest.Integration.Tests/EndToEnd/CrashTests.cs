using HibpIngest.Journal.Manifest;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Crashes a process at any call to a store: the next one must produce the same rows and accounts, and each mail once.</summary>
public sealed class CrashTests(ITestOutputHelper output)
{
    /// <summary>Each run has stores of its own, and mostly waits for them.</summary>
    private const int AtOnce = 4;

    private static readonly (string Name, string Text)[] Entries =
        [("a.csv", PipelineRig.Accounts(0, 7)), ("b.csv", PipelineRig.Accounts(4, 8))];

    [Fact]
    public async Task Pipeline_reaches_the_same_result_after_a_crash_at_any_call()
    {
        var draw = new CallDraw(oneOf: 5, output.WriteLine);
        var calls = await RunAsync(new CrashPoint(int.MaxValue, afterwards: false));
        output.WriteLine($"{calls} calls without a crash");
        Assert.True(calls > 50, "the whole pipeline was expected to run");
        var points = draw.Of(calls).Select(at => new CrashPoint(at, draw.IsAfterwards())).ToList();
        await Parallel.ForEachAsync(
            points, new ParallelOptions { MaxDegreeOfParallelism = AtOnce }, async (point, _) => await RunAsync(point));
    }

    private async Task<int> RunAsync(CrashPoint point)
    {
        var clock = new TestClock();
        await using var rig = await PipelineRig.StartAsync(
            options =>
                (options.Ingest.BatchRows, options.Ingest.SliceRows, options.Upsert.TransactionsInFlight, options.Mail.MailsPerMessage,
                    options.Mail.MatchRows, options.Journal.Mode, options.Journal.SegmentBatches, options.Upsert.Ranges)
                    = (5, 3, 1, 2, 6, JournalMode.On, 2, RangesMode.On), clock);
        await rig.ImportAsync(("user1@d1.example.org", null), ("user3@example.com", null), ("owner@example.net", "example.com"));
        await rig.DropAsync("X.zip", PipelineRig.Zip(Entries));

        var dying = point.Wrap(rig.OpenContext());
        await CrashPoint.WorkAsync(rig.Context.Queues, dying, () => dying.Get<BlobScan>().RunAsync(TimeSpan.Zero, None));
        // The next process finds expired leases, and messages old enough to count as lost.
        for (var round = 0; round < 4 && (round == 0 || await IsOpenAsync(rig)); round++)
        {
            clock.Advance(TimeSpan.FromHours(1));
            var context = rig.OpenContext();
            await context.SweepToEndAsync();
        }

        var where = $"died at call {point.Calls}: {point.Where}";
        var load = Assert.Single(await rig.LoadsAsync());
        Assert.True((LoadState.Done, 12L, 3, 3) == (load.State, load.Accounts, load.Batches, load.Notifications.Sent),
            $"{where}; state {load.State}, {load.Accounts} accounts, {load.Batches} batches, {load.Notifications}, {load.Slices}, "
            + $"{load.Error}");
        Assert.True(PipelineRig.Expected(0, 12).Order().SequenceEqual((await rig.TableAsync()).Keys.Order()), where);
        Assert.True((await rig.ExpectedRangesAsync()).SequenceEqual(await rig.RangesAsync()), where);
        Assert.True(new[] { "owner@example.net", "user1@d1.example.org", "user3@example.com" }.SequenceEqual(rig.Recipients()), where);
        Assert.Equal(3, load.Checkpoint.Rejected.Duplicates);
        Assert.True((await rig.DepthsAsync()).Values.All(depth => depth == 0), where);
        Assert.Empty(await rig.Context.Register.ListOpenAsync(None));
        Assert.Empty(await rig.Context.Register.ListStaleMarksAsync(None));
        Assert.True(load.IsJournaled, where);
        var logged = Assert.Single(await LogContent.ReadAsync(rig.Context.Log));
        Assert.True(PipelineRig.Expected(0, 12).Order().SequenceEqual(logged.Accounts.Order()), where);
        Assert.Equal((JournaledState.Counts, 2), (logged.State, logged.Segments));
        await new RawCatalogue(rig.Context.Catalogue).AssertShowsAsync(where, "X");
        return point.Calls;
    }

    private static async Task<bool> IsOpenAsync(PipelineRig rig) =>
        (await rig.LoadsAsync()).Count == 0 || (await rig.Context.Register.ListOpenAsync(None)).Count > 0
        || (await rig.Context.Register.ListStaleMarksAsync(None)).Count > 0;
}
