using HibpIngest.Pipeline.Layouts;
using HibpIngest.Pipeline.Recovery;
using HibpIngest.Pipeline.Removal;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>
/// Tests filling the ranges of a store from its account table, with concurrent changes: afterwards they hold each
/// account's hash with its marks. Expected hashes are computed without the product's code.
/// </summary>
public sealed class FillTests(ITestOutputHelper output)
{
    private static void Off(TestOptions options) =>
        (options.Ingest.BatchRows, options.Ingest.SliceRows, options.Upsert.TransactionsInFlight, options.Upsert.Ranges)
            = (40, 20, 4, RangesMode.Off);

    [Fact]
    public async Task Fill_writes_existing_accounts_to_the_ranges_and_makes_them_readable()
    {
        await using var rig = await PipelineRig.StartAsync(Off);
        await rig.LoadAccountsAsync("Old.zip", 0, 100);
        await rig.LoadAccountsAsync("Other.zip", 50, 100);
        Assert.Empty(await rig.RangesAsync());
        var progress = new Reports<FillProgress>();
        Assert.Equal(150, await rig.OpenContext().Get<FillRanges>().RunAsync(null, progress, None));
        await AssertFilledAsync(rig, 150);
        Assert.Equal((150L, IAccountTable.Parts), (progress.Seen[^1].Accounts, progress.Seen[^1].PartsDone));

        var hash = (await rig.RangesAsync()).First(one => one.Value == "b1 b2").Key;
        var entry = Assert.Single(await rig.Context.Ranges.ReadRangeAsync(hash[..6], None), entry => entry.Suffix == hash[6..]);
        Assert.Equal([1, 2], entry.Marks);

        // A second fill has nothing to do; later loads are written by their slices.
        Assert.Equal(0, await rig.OpenContext().Get<FillRanges>().RunAsync(null, null, None));
        await rig.LoadAccountsAsync("Later.zip", 140, 30);
        await AssertFilledAsync(rig, 170);
    }

    [Fact]
    public async Task Fill_includes_marks_beyond_250()
    {
        await using var rig = await PipelineRig.StartAsync(Off);
        await rig.LoadAccountsAsync("Old.zip", 0, 30);
        // Like old loads, whose marks are in rows after the first.
        await rig.Context.Database.MoveOnAsync(new StoreIds(0, 800), "", None);
        foreach (var mark in new[] { 249, 250, 251, 500, 501, 777 })
            await MarkLoadAsync(rig, mark, mark % 2 == 0 ? 0 : 10, 20);
        await MarkLoadAsync(rig, 600, 100, 5); // none of their marks is in the first row
        Assert.Equal(35, await rig.Context.GetFillRanges(7).RunAsync(null, null, None));
        await AssertFilledAsync(rig, 35);
    }

    [Fact]
    public async Task Fill_interrupted_at_any_call_is_completed_by_the_next_one()
    {
        // The first and the last steps are tested more often than the scan between them.
        const int Steps = 20;
        var (few, many) = (new CallDraw(oneOf: 12, output.WriteLine), new CallDraw(oneOf: 5, output.WriteLine));
        var calls = await InterruptAsync(int.MaxValue, afterwards: false);
        var scan = few.Of(calls).Where(at => at > Steps && at <= calls - 3);
        var ends = many.Of(calls).Where(at => at <= Steps || at > calls - 3);
        foreach (var at in scan.Concat(ends).ToList())
            await InterruptAsync(at, many.IsAfterwards());
    }

    /// <summary>Crashes a fill at a call, and completes it with another; returns how many calls the first made.</summary>
    private async Task<int> InterruptAsync(int at, bool afterwards)
    {
        await using var rig = await PipelineRig.StartAsync(Off, new TestClock());
        await rig.LoadAccountsAsync("Old.zip", 0, 30);
        var point = new CrashPoint(at, afterwards);
        var died = await Record.ExceptionAsync(() => point.Wrap(rig.OpenContext()).GetFillRanges(5).RunAsync(null, null, None));
        Assert.Equal(point.Crashed, died is not null);
        output.WriteLine($"died at call {at}: {point.Where}");

        // Readers never see ranges with an account missing.
        if ((await rig.Context.Register.GetReadLayoutAsync(None))!.Ranges == RangesState.On)
            Assert.Equal(await rig.ExpectedRangesAsync(), await rig.RangesAsync());
        ((TestClock)rig.Time).Advance(TimeSpan.FromMinutes(2)); // past the lease of the crashed process's lock
        await rig.LoadAccountsAsync("Between.zip", 25, 10);
        await rig.OpenContext().GetFillRanges(5).RunAsync(null, null, None);
        await AssertFilledAsync(rig, 35);
        return point.Calls;
    }

    [Fact]
    public async Task Cancelled_fill_resumes_from_its_recorded_progress()
    {
        await using var rig = await PipelineRig.StartAsync(Off);
        await rig.LoadAccountsAsync("Old.zip", 0, 100);
        using var stop = new CancellationTokenSource();
        var recorded = 0;
        var hooks = new HookedPorts((_, what) =>
            what == nameof(ILayouts.SetRangesFillAsync) && ++recorded == 20 ? stop.CancelAsync() : Task.CompletedTask);
        await Assert.ThrowsAnyAsync<OperationCanceledException>(
            () => hooks.Wrap(rig.OpenContext()).Get<FillRanges>().RunAsync(null, null, stop.Token));
        Assert.Equal(RangesState.Filling, (await rig.Context.Register.GetReadLayoutAsync(None))!.Ranges);
        // The lock is released, and pages already scanned aren't read again.
        var pages = 0;
        var counting = new HookedPorts((_, what) => Task.FromResult(what == nameof(IAccountTable.ReadPageAsync) ? ++pages : 0));
        await counting.Wrap(rig.OpenContext()).Get<FillRanges>().RunAsync(null, null, None);
        Assert.InRange(pages, 1, IAccountTable.Parts - 15);
        await AssertFilledAsync(rig, 100);
    }

    [Fact]
    public async Task Fill_and_concurrent_loads_write_every_account_to_both_tables()
    {
        await using var rig = await PipelineRig.StartAsync(Off);
        await rig.LoadAccountsAsync("Old.zip", 0, 200);
        for (var i = 0; i < 3; i++)
            await rig.DropAsync($"New{i}.zip", PipelineRig.Zip(("a.csv", PipelineRig.Accounts(100 + (60 * i), 150))));
        var loading = Task.Run(() => PipelineRig.RunToEndAsync(rig.OpenContext()));
        await rig.OpenContext().GetFillRanges(10).RunAsync(null, null, None);
        await loading;
        await rig.RunToEndAsync();
        Assert.All(await rig.LoadsAsync(), load => Assert.Equal(LoadState.Done, load.State));
        await AssertFilledAsync(rig, 370);
    }

    [Fact]
    public async Task Second_fill_is_refused_and_concurrent_fills_without_a_lock_do_no_harm()
    {
        await using var rig = await PipelineRig.StartAsync(Off);
        await rig.LoadAccountsAsync("Old.zip", 0, 100);
        var first = true;
        var hooks = new HookedPorts(async (_, what) =>
        {
            if (what != nameof(IRangeTable.MergeAsync) || !first)
                return;
            first = false;
            await Refusal.AssertAsync<NotPossibleException>(
                "another 'hibp ranges fill' or 'hibp layout rebuild' is running",
                () => rig.OpenContext().Get<FillRanges>().RunAsync(null, null, None));
            // As if the lock had expired while its process was suspended.
            await Task.WhenAll(Enumerable.Range(0, 2).Select(_ => FillUnlockedAsync(rig)));
        });
        await hooks.Wrap(rig.OpenContext()).GetFillRanges(9).RunAsync(null, null, None);
        await AssertFilledAsync(rig, 100);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Breach_removed_during_a_fill_leaves_nothing_in_the_ranges(bool purged)
    {
        await using var rig = await PipelineRig.StartAsync(Off);
        await rig.LoadAccountsAsync("Gone.zip", 0, 60);
        await rig.LoadAccountsAsync("Old.zip", 30, 60);
        if (purged)
            await rig.Context.Get<PurgeLoad>().RunAsync(new(1), withoutJournal: true, null, None);
        // The whole removal runs after a page was read and before it is written.
        var removed = false;
        var hooks = new HookedPorts(async (_, what) =>
        {
            if (what == nameof(IRangeTable.MergeAsync) && !removed)
            {
                removed = true;
                await rig.OpenContext().Get<RemoveBreach>().RunAsync("Gone", null, None);
            }
        });
        await hooks.Wrap(rig.OpenContext()).Get<FillRanges>().RunAsync(null, null, None);
        Assert.True(removed);
        await AssertFilledAsync(rig, 60);
        Assert.All((await rig.RangesAsync()).Values, marks => Assert.Equal("b2", marks));
    }

    [Fact]
    public async Task Fill_skips_breaches_that_are_being_removed()
    {
        await using var rig = await PipelineRig.StartAsync(Off);
        await rig.LoadAccountsAsync("Gone.zip", 0, 20);
        await rig.LoadAccountsAsync("Old.zip", 10, 20);
        await rig.Context.Database.BeginRemovalAsync("Gone", None); // and interrupted
        Assert.Equal(20, await rig.Context.Get<FillRanges>().RunAsync(null, null, None));
        Assert.All((await rig.RangesAsync()).Values, marks => Assert.Equal("b2", marks));
        await rig.Context.Get<RemoveBreach>().RunAsync("Gone", null, None);
        await AssertFilledAsync(rig, 20);
    }

    /// <summary>Fills as another process that finds every lock free, and tries again while the other fill is between two steps.</summary>
    private static async Task FillUnlockedAsync(PipelineRig rig)
    {
        Exception? refused = null;
        for (var tries = 0; tries == 0 || (refused is NotPossibleException && tries < 100); tries++)
            refused = await Record.ExceptionAsync(() => Unlocked(rig).GetFillRanges(9).RunAsync(null, null, None));
        Assert.Null(refused);
    }

    private static PipelineParts Unlocked(PipelineRig rig)
    {
        var context = rig.OpenContext();
        return context with
        {
            Database = PortProxy<IBreachDatabase>.Create(context.Database, what =>
                what == nameof(IDatabaseState.TryLockAsync) ? rig.ExecuteAsync("DELETE FROM locks") : Task.CompletedTask),
        };
    }

    /// <summary>Makes a load with a given mark, as far as the tables and the fill are concerned.</summary>
    private static async Task MarkLoadAsync(PipelineRig rig, int mark, int first, int count)
    {
        var id = 1_000 + mark;
        await rig.Context.Database.StartLoadAsync(
            new NewLoad(new(id), $"M{mark}", new BlobVersion($"M{mark}.zip", "\"1\""), LoadStart.NewSettings(rig.Options.Ingest)), None);
        await rig.ExecuteAsync($"UPDATE loads SET mark = {mark} WHERE id = {id}");
        foreach (var account in PipelineRig.Expected(first, count))
            await rig.Context.Table.UpsertAsync(account.Split('@')[1], mark, account.Split('@')[0]);
    }

    private static async Task AssertFilledAsync(PipelineRig rig, int accounts)
    {
        var ranges = await rig.RangesAsync();
        Assert.Equal(await rig.ExpectedRangesAsync(), ranges);
        Assert.Equal(accounts, ranges.Count);
        Assert.Equal(RangesState.On, Assert.Single((await rig.Context.Database.GetLayoutsAsync(None)).Layouts).Ranges);
        Assert.Equal(RangesState.On, (await rig.Context.Register.GetReadLayoutAsync(None))!.Ranges);
    }
}
