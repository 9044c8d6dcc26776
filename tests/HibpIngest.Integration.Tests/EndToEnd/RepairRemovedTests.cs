using HibpIngest.Journal.Manifest;
using HibpIngest.Pipeline.Layouts;
using HibpIngest.Pipeline.Removal;
using static HibpIngest.Integration.Tests.EndToEnd.RemovalSteps;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Tests deleting what removed loads, unknown to the database, left in the journal and the tables.</summary>
public sealed class RepairRemovedTests
{
    [Fact]
    public async Task Repair_deletes_leftovers_of_removed_loads_from_journal_and_layouts_and_nothing_else()
    {
        await using var rig = await PipelineRig.StartAsync(Journaled, storageAccounts: 2);
        var wide = await rig.Context.Get<LayoutOperations>().AddAsync(
            "wide", [2, 1], new Dictionary<string, int> { ["example.com"] = 4 }, RangesState.On, None);
        await LoadAsync(rig, "Bold", 0, 20);
        var expected = await ContentAsync(rig, wide);
        await LoseRemovalAsync(rig, "Adobe", 10, 30);
        // An incomplete removal is left to 'breach remove'.
        await LoadAsync(rig, "Cold", 5, 10);
        await rig.Context.Database.BeginRemovalAsync("Cold", None);
        await WriteRemovedAsync(rig, new(3));
        Assert.NotEqual(expected, await ContentAsync(rig, wide));

        var repair = rig.OpenContext().Get<RepairRemoved>();
        var plan = await repair.PlanAsync(all: false, None);
        var load = Assert.Single(plan.Loads);
        Assert.Equal((2, 2), (load.Load.Value, load.Mark));
        Assert.True(load.Blobs > 0);
        Assert.Contains("load 3 of Cold is being removed: 'hibp breach remove Cold' completes that", plan.Skipped);
        var lines = new Reports<string>();
        var repaired = await repair.RunAsync(plan, lines, None);
        Assert.Equal((1, (long)load.Blobs), (repaired.Loads, repaired.Blobs));
        Assert.Equal(2 * 2 * 30, repaired.Marks);
        Assert.Contains(lines.Seen, line => line.StartsWith("load 2 (1 of 1): ", StringComparison.Ordinal));
        await RemoveAsync(rig.OpenContext(), "Cold", null, None);
        Assert.Equal(expected, await ContentAsync(rig, wide));

        var again = await repair.RunAsync(await repair.PlanAsync(all: false, None), null, None);
        Assert.Equal((0, 0L, 0L), (again.Loads, again.Blobs, again.Marks));
        // Marks that reappeared without a blob.
        await rig.Context.Table.UpsertAsync("example.com", 2, "user1");
        again = await repair.RunAsync(await repair.PlanAsync(all: true, None), null, None);
        Assert.Equal((2, 0L, 1L), (again.Loads, again.Blobs, again.Marks));
        Assert.Equal(expected, await ContentAsync(rig, wide));
        Assert.Equal(20, await FindAllAsync(rig, 0, 20, "Bold"));
    }

    [Fact]
    public async Task Repair_interrupted_at_any_call_is_completed_by_the_next_one()
    {
        await using var rig = await PipelineRig.StartAsync(Journaled);
        await LoadAsync(rig, "Bold", 0, 8);
        var (table, ranges) = (await rig.TableAsync(), await rig.RangesAsync());
        // The parts of the scan are alike, so the first calls, one in the middle and the last ones suffice.
        var total = await RepairAsync(crashAt: 0);
        foreach (var at in (int[])[1, 2, 3, 4, 5, total / 2, total - 2, total - 1, total])
        {
            await RepairAsync(at);
            var repair = rig.OpenContext().Get<RepairRemoved>();
            await repair.RunAsync(await repair.PlanAsync(all: false, None), null, None);
            Assert.Equal(table, await rig.TableAsync());
            Assert.Equal(ranges, await rig.RangesAsync());
            Assert.DoesNotContain(
                (await JournalManifest.ReadAsync(rig.Context.Log, None)).Loads,
                load => load.State == JournaledState.Removed && load.Blobs.Count > 1);
        }

        // Returns how many calls it made to database, tables and log.
        async Task<int> RepairAsync(int crashAt)
        {
            await LoseRemovalAsync(rig, $"Adobe{crashAt}", 4, 8);
            var calls = 0;
            var context = new HookedPorts((_, _) => CallAsync()).Wrap(rig.OpenContext());
            context = context with { Log = PortProxy<IJournalBlobs>.Create(context.Log, _ => CallAsync()) };
            var repair = context.Get<RepairRemoved>();
            var died = await Record.ExceptionAsync(
                async () => await repair.RunAsync(await repair.PlanAsync(all: false, None), null, None));
            Assert.True(crashAt == 0 ? died is null : died is CrashException, $"{died}");
            return calls;

            Task CallAsync() =>
                Interlocked.Increment(ref calls) == crashAt ? throw new CrashException() : Task.CompletedTask;
        }
    }

    /// <summary>Makes a removed load that still has marks, hashes and blobs, but is unknown to the database, as after a restore.</summary>
    private static async Task LoseRemovalAsync(PipelineRig rig, string breach, int first, int count)
    {
        var load = await LoadAsync(rig, breach, first, count);
        await rig.Context.Database.BeginRemovalAsync(breach, None);
        await WriteRemovedAsync(rig, load.Id);
        await rig.Context.Database.FinishRemovalAsync(load.Id, None);
    }

    private static async Task WriteRemovedAsync(PipelineRig rig, LoadId load)
    {
        var entry = (await rig.Context.Database.GetJournalEntryAsync(load, None))!;
        var store = (await rig.Context.Database.GetIdentityAsync(None))!.Id;
        await rig.Context.Log.WriteAsync(JournalNames.Folder(entry) + JournalNames.Removed, RemovedDocument.Of(entry, store).ToJson(),
            None);
    }

    private static async Task<List<string>> ContentAsync(PipelineRig rig, StoreLayout wide)
    {
        var accounts = (await rig.TableAsync()).Concat(await LayoutContent.ReadAccountsAsync(rig, wide));
        var ranges = (await rig.RangesAsync()).Concat(await LayoutContent.ReadRangesAsync(rig, wide));
        return [.. accounts.Select(one => $"{one.Key} {string.Join(' ', one.Value)}").Order(),
            .. ranges.Select(one => $"{one.Key} {one.Value}").Order()];
    }
}
