using HibpIngest.Journal.Manifest;
using HibpIngest.Pipeline.Layouts;
using HibpIngest.Pipeline.Recovery;
using HibpIngest.Pipeline.Removal;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Tests that a rebuilt layout equals the served one in spite of concurrent changes.</summary>
public sealed class RebuildTests(ITestOutputHelper output)
{
    private const string Wide = "wide";
    private const int SmallMemory = 20_000; // about ten partitions
    private static readonly Dictionary<string, int> Spread = new() { ["example.com"] = 8, ["d1.example.org"] = 3 };

    private static readonly Action<TestOptions> Logged =
        options => (options.Ingest.BatchRows, options.Ingest.SliceRows, options.Journal.SegmentBatches, options.Journal.Mode,
            options.Upsert.Ranges) = (100, 50, 1, JournalMode.On, RangesMode.On);

    [Fact]
    public async Task Rebuilt_layout_holds_loads_of_every_kind_and_can_be_switched_both_ways()
    {
        await using var rig = await PipelineRig.StartAsync(Logged, storageAccounts: 4);
        await LoadAllAsync(rig);
        var progress = new Reports<RebuildProgress>();
        var result = await rig.OpenContext().Get<RebuildLayout>().RunAsync(Order(4), progress, None);
        Assert.Equal((Wide, 4, 150L + 150 + 90 + 80, 0), (result.Layout.Name, result.Loads, result.Rows, result.Removed));
        await AssertHeldAsync(rig, result.Layout);
        var distinct = new[] { (0, 150), (100, 150), (120, 90), (280, 80) }.SelectMany(load => PipelineRig.Expected(load.Item1, load.Item2))
            .Distinct().Count();
        Assert.Equal(distinct, result.Accounts);
        var last = progress.Seen[^1];
        Assert.Equal(
            (470L, 470L, 1d, 0d, (long)distinct),
            (last.Rows, last.Read, last.WrittenFraction, last.WrittenFractionBefore, last.Accounts));
        Assert.Equal(
            progress.Seen.Select(value => value.WrittenFraction).Order(), progress.Seen.Select(value => value.WrittenFraction));

        // Nothing is left to do.
        var again = await rig.OpenContext().Get<RebuildLayout>().RunAsync(Order(4), null, None);
        Assert.Equal((0, 0L, 0L), (again.Loads, again.Accounts, again.Transactions));
        await rig.SwitchAsync(Wide);
        Assert.Equal(["Adobe", "Cold"], (await rig.FindAsync("user105@example.com")).Select(breach => breach.Name));
        await rig.LoadAccountsAsync("Even.zip", 0, 40);
        await rig.SwitchAsync("1");
        await AssertHeldAsync(rig, result.Layout);
        await rig.SwitchAsync(Wide);
        await rig.OpenContext().Get<RemoveBreach>().RunAsync("Adobe", null, None);
        await AssertHeldAsync(rig, result.Layout);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Rebuild_interrupted_at_any_call_resumes_and_gives_the_same_result(bool logged)
    {
        await using var rig = await PipelineRig.StartAsync(
            Logged + (options => options.Journal.Mode = logged ? JournalMode.On : JournalMode.Off), storageAccounts: 2);
        await rig.LoadAccountsAsync("Adobe.zip", 0, 60);
        await rig.LoadAccountsAsync("Bold.zip", 40, 40);
        var seed = Random.Shared.Next();
        output.WriteLine($"seed {seed}");
        var random = new Random(seed);
        var (at, rounds, isDone) = (1, 0, false);
        for (; !isDone; rounds++, at += random.Next(4, 40))
        {
            var name = $"wide{rounds.ToString(CultureInfo.InvariantCulture)}";
            var hooks = new HookedPorts((call, _) => call == at ? throw new CrashException() : Task.CompletedTask);
            var crash = await Record.ExceptionAsync(
                () => hooks.Wrap(rig.OpenContext()).Get<RebuildLayout>().RunAsync(Order(2) with { Name = name }, null, None));
            isDone = crash is null;
            Assert.True(crash is null or CrashException, $"{crash}");
            // The crashed process's locks expire, even if it stopped before releasing them.
            await rig.ExecuteAsync("DELETE FROM locks");
            var result = await rig.OpenContext().Get<RebuildLayout>().RunAsync(Order(2) with { Name = name }, null, None);
            await AssertHeldAsync(rig, result.Layout);
            Assert.Equal(0, await rig.Context.Database.CountMissingAsync(result.Layout.Id, None));
            Assert.Null(await rig.Context.Database.GetRebuildAsync(result.Layout.Id, None));
            await rig.Context.Database.DropLayoutAsync(result.Layout.Id, None);
        }
        output.WriteLine($"{rounds} rounds, {at} calls");
        Assert.True(rounds > 3);
    }

    [Fact]
    public async Task Load_during_a_rebuild_is_in_both_layouts_even_if_reads_switch_midway()
    {
        await using var rig = await PipelineRig.StartAsync(Logged, storageAccounts: 2);
        await rig.LoadAccountsAsync("Adobe.zip", 0, 150);
        await rig.DropAccountsAsync("Bold.zip", 100, 200);
        var slices = 0;
        var hooks = new HookedPorts(async (_, what) =>
        {
            if (what != nameof(ISlices.CompleteSliceAsync) || ++slices != 3)
                return;
            // Two slices are done, and one is written.
            var result = await rig.OpenContext().Get<RebuildLayout>().RunAsync(Order(2), null, None);
            Assert.Equal((2, 150L + 100), (result.Loads, result.Rows));
            await rig.SwitchAsync(Wide);
        });
        await PipelineRig.RunToEndAsync(hooks.Wrap(rig.OpenContext()));
        Assert.True(slices > 4);
        var wide = (await rig.Context.Database.GetLayoutsAsync(None)).Layouts[1];
        await AssertHeldAsync(rig, wide);
        Assert.Equal(["Adobe", "Bold"], (await rig.FindAsync("user102@example.com")).Select(breach => breach.Name));
        await rig.SwitchAsync("1");
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Breach_removed_during_a_rebuild_is_not_in_the_new_layout(bool interrupted)
    {
        await using var rig = await PipelineRig.StartAsync(Logged, storageAccounts: 2);
        await rig.LoadAccountsAsync("Gone.zip", 0, 120);
        await rig.LoadAccountsAsync("Old.zip", 60, 120);
        // The whole removal runs after the log was read and before most of it is written.
        var (writes, removed) = (0, false);
        var hooks = new HookedPorts(async (_, what) =>
        {
            if (what == nameof(IAccountTable.MergeAsync) && Interlocked.Increment(ref writes) == 20)
            {
                await rig.OpenContext().Get<RemoveBreach>().RunAsync("Gone", null, None);
                removed = true;
            }
            // Everything is written, and the removed load's marks aren't removed yet.
            if (interrupted && removed && what == nameof(ILoads.ListLoadsAsync))
                throw new CrashException();
        });
        var rebuild = hooks.Wrap(rig.OpenContext()).Get<RebuildLayout>();
        if (interrupted)
        {
            await Assert.ThrowsAsync<CrashException>(() => rebuild.RunAsync(Order(2), null, None));
            await Refusal.AssertAsync<NotPossibleException>("hibp layout rebuild --into wide", () => rig.SwitchAsync(Wide));
            rebuild = rig.OpenContext().Get<RebuildLayout>();
        }
        var result = await rebuild.RunAsync(Order(2), null, None);
        Assert.Equal(1, result.Removed);
        var accounts = await LayoutContent.ReadAccountsAsync(rig, result.Layout);
        Assert.Equal(PipelineRig.Expected(60, 120).Order(), accounts.Keys.Order());
        Assert.All(accounts.Values, marks => Assert.Equal(["b2"], marks));
        await LayoutContent.AssertHeldAsync(rig, result.Layout);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Fill_during_a_rebuild_that_lost_its_lock_misses_no_hash(bool interrupted)
    {
        await using var rig = await PipelineRig.StartAsync(Logged, storageAccounts: 2);
        await rig.LoadAccountsAsync("Adobe.zip", 0, 150);
        await rig.LoadAccountsAsync("Bold.zip", 100, 150);
        var (writes, filled, records) = (0, false, 0);
        var hooks = new HookedPorts(async (_, what) =>
        {
            if (what == nameof(IAccountTable.MergeAsync) && Interlocked.Increment(ref writes) == 10)
            {
                // As if the process had been suspended until its lease expired.
                await rig.ExecuteAsync("DELETE FROM locks");
                await rig.OpenContext().Get<FillRanges>().RunAsync(Wide, null, None);
                filled = true;
            }
            // After the scan, it has written without hashes, and recorded that.
            if (interrupted && filled && what == nameof(ILayouts.SetRebuildAsync) && ++records == 2)
                throw new CrashException();
        });
        var rebuild = hooks.Wrap(rig.OpenContext()).Get<RebuildLayout>();
        if (interrupted)
        {
            await Assert.ThrowsAsync<CrashException>(() => rebuild.RunAsync(Order(2) with { Ranges = false }, null, None));
            await rig.ExecuteAsync("DELETE FROM locks");
            rebuild = rig.OpenContext().Get<RebuildLayout>();
        }
        var result = await rebuild.RunAsync(
            Order(2) with { Ranges = interrupted ? null : false }, null, None);
        Assert.True(filled);
        Assert.Equal(RangesState.On, (await rig.Context.Database.GetLayoutsAsync(None)).Layouts[1].Ranges);
        Assert.Equal(0, await rig.Context.Database.CountMissingAsync(result.Layout.Id, None));
        await AssertHeldAsync(rig, result.Layout);
        await rig.SwitchAsync(Wide);
    }

    [Fact]
    public async Task Impossible_rebuilds_are_refused_before_anything_is_written()
    {
        await using var rig = await PipelineRig.StartAsync(
            Logged + (options => options.Journal.Mode = JournalMode.Off), storageAccounts: 2);
        await rig.LoadAccountsAsync("Adobe.zip", 0, 60);
        await rig.LoadAccountsAsync("Bold.zip", 40, 60);
        await rig.Context.Get<PurgeLoad>().RunAsync(new(1), withoutJournal: true, null, None);
        var rebuild = rig.OpenContext().Get<RebuildLayout>();
        await Refusal.AssertAsync<NotPossibleException>(
            "SQL has purged the rows of loads 1, and the journal doesn't have them", () => rebuild.RunAsync(Order(2), null, None));
        var wide = (await rig.Context.Database.GetLayoutsAsync(None)).Layouts[1];
        Assert.Empty(await LayoutContent.ReadAccountsAsync(rig, wide));

        foreach (var other in new[]
        {
            Order(1), Order(2) with { Ranges = false }, Order(2) with { SpreadDomains = new Dictionary<string, int>() },
        })
        {
            await Refusal.AssertAsync<BadInputException>("with other storage accounts", () => rebuild.RunAsync(other, null, None));
        }
        await rig.Context.Database.TryLockAsync(FillRanges.LockName, "another", TimeSpan.FromHours(1), None);
        await Refusal.AssertAsync<NotPossibleException>("another 'hibp layout rebuild'", () => rebuild.RunAsync(Order(2), null, None));
    }

    [Fact]
    public async Task Rebuild_names_a_missing_journal_segment()
    {
        await using var rig = await PipelineRig.StartAsync(Logged);
        await rig.LoadAccountsAsync("Adobe.zip", 0, 100);
        var segment = Assert.Single(
            (await JournalManifest.ReadAsync(rig.Context.Log, None)).Loads[0].Blobs,
            blob => blob.Name.EndsWith(JournalNames.SegmentExtension, StringComparison.Ordinal));
        await rig.Context.Log.DeleteAsync(segment.Name, None);
        await Refusal.AssertAsync<StoreMissingException>(
            segment.Name, () => rig.OpenContext().Get<RebuildLayout>().RunAsync(Order(1), null, None));
    }

    /// <summary>Makes four overlapping current loads (one purged, one held), and one removed and one replaced load.</summary>
    private static async Task LoadAllAsync(PipelineRig rig)
    {
        await rig.ImportAsync(("boss@example.net", "example.com"));
        await rig.LoadAccountsAsync("Adobe.zip", 0, 150);
        await rig.LoadAccountsAsync("Gone.zip", 50, 60);
        await rig.LoadAccountsAsync("Bold.zip", 200, 100);
        await rig.LoadAccountsAsync("Bold.zip", 120, 90); // a newer one
        await rig.LoadAccountsAsync("Cold.zip", 100, 150);
        await rig.LoadAccountsAsync("Held.zip", 280, 80, """{ "Notify": "hold" }""");
        Assert.Equal(LoadState.Held, (await rig.LoadsAsync())[^1].State);
        await rig.Context.Get<RemoveBreach>().RunAsync("Gone", null, None);
        await rig.Context.Get<PurgeLoad>().RunAsync(new(1), withoutJournal: false, null, None);
    }

    private static RebuildOrder Order(int storageAccounts) => new(Wide)
    {
        StorageAccounts = [.. Enumerable.Range(1, storageAccounts).Reverse()],
        SpreadDomains = Spread,
        MemoryBytes = SmallMemory,
    };

    /// <summary>Asserts that a layout equals the first one, except for replaced loads' marks, which stay in the old layout.</summary>
    private static async Task AssertHeldAsync(PipelineRig rig, StoreLayout layout)
    {
        var marks = (await rig.LoadsAsync()).Where(load => load.ReplacedBy is null && !load.Superseded).Select(load => $"b{load.Mark}");
        await LayoutContent.AssertHeldAsync(rig, layout, marks.ToHashSet());
    }
}
