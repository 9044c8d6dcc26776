using HibpIngest.Pipeline.Recovery;
using HibpIngest.Pipeline.Removal;
using static HibpIngest.Integration.Tests.EndToEnd.RemovalSteps;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Tests that a removal deletes the loads that exist when it begins, despite concurrent changes and interruptions.</summary>
public sealed class RemovalTests
{
    private const int Old = 12;
    private const int FirstOfNew = 6;
    private const int New = 14;

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Cancelled_removal_resumes_and_repeats_nothing(bool purged)
    {
        const int Accounts = 300;
        await using var rig = await PipelineRig.StartAsync(
            options => (options.Ingest.BatchRows, options.Ingest.SliceRows, options.Upsert.TransactionsInFlight, options.Upsert.Ranges)
                = (100, 50, 1, RangesMode.On));
        await LoadAsync(rig, "Adobe", 0, Accounts, purged);
        using var stop = new CancellationTokenSource();
        var removed = 0;
        var hooks = new HookedPorts(async (_, what) =>
        {
            // In the second chunk, or after the first part of the table with accounts.
            var reached = purged
                ? what == nameof(ICatalogue.SetRemovalTokenAsync) && (await rig.TableAsync()).Count < Accounts
                : what == nameof(IAccountTable.RemoveMarkAsync) && ++removed == 11; // 4 of accounts and 5 of hashes before
            if (reached)
                await stop.CancelAsync();
        });
        var stopped = RemoveAsync(hooks.Wrap(rig.OpenContext()), "Adobe", null, stop.Token);
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => stopped);
        var left = (await rig.TableAsync()).Count;
        Assert.InRange(left, 1, Accounts - 1);
        var open = Assert.Single(await rig.OpenContext().Get<RemovalStatus>().ListAsync(None));
        Assert.Equal("Adobe", open.Breach);
        Assert.Equal([new(1)], open.Loads);
        Assert.InRange(open.Part, 0.01, 0.99);

        var progress = new Reports<RemovalProgress>();
        var result = await RemoveAsync(rig.OpenContext(), "adobe", progress, None);
        Assert.Equal(("Adobe", (long)left), (result.Breach, result.Entities));
        Assert.Equal([new(1)], result.Loads);
        Assert.Empty(result.RemainingLoads);
        Assert.Empty(await rig.OpenContext().Get<RemovalStatus>().ListAsync(None));
        Assert.Empty(await rig.TableAsync());
        Assert.Equal(0, await rig.CountAsync("rows"));
        Assert.Equal(progress.Seen[^1].Total, progress.Seen[^1].Done);
        Assert.Equal(purged ? Accounts : Accounts - 5, progress.Seen[^1].Total);
        Assert.All(progress.Seen, one => Assert.InRange(one.Done, 0, Accounts));
    }

    [Fact]
    public async Task Removal_reads_the_journal_entry_of_each_load_once_and_no_breach()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await LoadAsync(rig, "Adobe", 0, 200);
        var (context, calls) = rig.OpenContext().Recorded();
        await RemoveAsync(context, "Adobe", null, None);
        Assert.Single(calls, nameof(ILoadRows.GetJournalEntryAsync));
        Assert.DoesNotContain(nameof(ICatalogue.GetBreachAsync), calls);
    }

    [Fact]
    public async Task Concurrent_removals_of_one_breach_complete_it_together()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await LoadAsync(rig, "Adobe", 0, 200);
        await LoadAsync(rig, "Other", 100, 200);
        await Task.WhenAll(Enumerable.Range(0, 3).Select(async _ =>
        {
            // The last one may find the breach already removed.
            var error = await Record.ExceptionAsync(() => RemoveAsync(rig.OpenContext(), "Adobe", null, None));
            Assert.True(error is null or NotPossibleException, $"{error}");
        }));
        Assert.Null(await rig.Context.Database.GetBreachAsync("Adobe", None));
        Assert.Equal(PipelineRig.Expected(100, 200).Order(), (await rig.TableAsync()).Keys.Order());
        Assert.All((await rig.TableAsync()).Values, marks => Assert.Equal(["b2"], marks));
    }

    [Fact]
    public async Task Removal_waits_for_a_running_slice_and_a_late_one_writes_nothing()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.IngestAccountsAsync("Adobe.zip", 0, Old);
        await rig.Context.Database.FailLoadAsync(new(1), owner: null, "bad", superseded: false, None);
        Assert.NotNull(await rig.Context.Database.BeginSliceAsync(new(1), 1, maxTries: 5, None));
        await LeaseAsync(rig, "strftime('%s', 'now', '+1 hour') * 1000");

        var looks = 0;
        var hooks = new HookedPorts(async (_, what) =>
        {
            if (what == nameof(ICatalogue.HasLeasedSlicesAsync) && ++looks == 2)
            {
                // Writes made before the removal took effect.
                var rows = new AccountBatch(4);
                await rig.Context.Database.ReadRowsAsync(new(1), 1, 4, rows, None);
                for (var i = 0; i < rows.Count; i++)
                {
                    await rig.Context.Table.UpsertAsync(
                        rows.DomainMemory(i), new[] { rows.AliasRange(i) }, rows.Memory, 1, new TransactionsInFlight(1, None), None);
                }
                await LeaseAsync(rig, "NULL");
            }
            Assert.False(what == nameof(IAccountTable.RemoveMarkAsync) && looks < 2, "the table was scanned during a slice");
        });
        var progress = new Reports<RemovalProgress>();
        Assert.Equal(4, (await RemoveAsync(hooks.Wrap(rig.OpenContext()), "Adobe", progress, None)).Entities);
        Assert.Equal(2, looks);
        Assert.Contains(progress.Seen, one => one.Waiting);
        Assert.Empty(await rig.TableAsync());

        // The messages of all three slices arrive only now.
        Assert.Equal(3, (await rig.DepthsAsync())[QueueNames.Slices]);
        await rig.RunToEndAsync();
        Assert.Empty(await rig.TableAsync());
        Assert.Empty(await rig.LoadsAsync());
        await rig.AssertQueuesEmptyAsync();
    }

    [Fact]
    public async Task Removal_gives_up_waiting_for_a_slice_that_never_ends()
    {
        var time = TestClock.WithTimersByHand();
        await using var rig = await PipelineRig.StartAsync(Small, time);
        await LoadAsync(rig, "Adobe", 0, Old);
        await LeaseAsync(rig, "9000000000000");
        var removing = RemoveAsync(rig.OpenContext(), "Adobe", null, None);
        await time.AdvanceUntilAsync(removing, TimeSpan.FromSeconds(1)).WaitAsync(TimeSpan.FromMinutes(2));
        await Refusal.AssertAsync<NotPossibleException>("still running", () => removing);
        Assert.Equal(Old, (await rig.TableAsync()).Count);
        Assert.Equal(0, await FindAllAsync(rig, 0, Old, "Adobe"));

        await LeaseAsync(rig, "NULL");
        Assert.Equal(Old, (await RemoveAsync(rig.OpenContext(), "Adobe", null, None)).Entities);
        Assert.Empty(await rig.TableAsync());
    }

    [Theory]
    [InlineData(false, 5)]
    [InlineData(true, 5)]
    [InlineData(false, 50)]
    [InlineData(true, 50)]
    public async Task Removal_retries_during_a_short_table_outage_and_fails_after_a_long_one(bool purged, int failures)
    {
        var time = TestClock.WithTimersByHand();
        await using var rig = await PipelineRig.StartAsync(options => options.Upsert.TransactionsInFlight = 1, time);
        await LoadAsync(rig, "Adobe", 0, Old, purged);
        var failed = 0;
        var hooks = new HookedPorts((_, what) => what == nameof(IAccountTable.RemoveMarkAsync) && failed++ < failures
            ? throw new UnavailableException("the table is down")
            : Task.CompletedTask);
        var progress = new Reports<RemovalProgress>();
        var removing = RemoveAsync(hooks.Wrap(rig.OpenContext()), "Adobe", progress, None);
        // The longest pause, so that no pause outlasts a step.
        await time.AdvanceUntilAsync(removing, TimeSpan.FromSeconds(64)).WaitAsync(TimeSpan.FromMinutes(2));
        Assert.Equal(Math.Min(failures, 7), progress.Seen.Count(one => one.Reason == "the table is down"));
        if (failures == 5)
        {
            Assert.Equal(Old, (await removing).Entities);
            Assert.Empty(await rig.TableAsync());
            return;
        }
        await Assert.ThrowsAsync<UnavailableException>(() => removing);
        Assert.Equal(8, failed);
        Assert.Equal(Old, (await RemoveAsync(rig.OpenContext(), "Adobe", null, None)).Entities);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(2)]
    public async Task Loads_that_share_a_mark_are_removed_together(int purgedLoads)
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await LoadAsync(rig, "Adobe", 0, Old);
        await ShareMarkAsync(rig, "Adobe.2.zip");
        Assert.All((await rig.TableAsync()).Values, marks => Assert.Equal(["b1"], marks));
        for (var load = 1; load <= purgedLoads; load++)
            await rig.Context.Get<PurgeLoad>().RunAsync(new(load), withoutJournal: true, null, None);
        // Interrupted after the first load is removed; then another load arrives.
        var hooks = new HookedPorts(async (_, what) =>
        {
            if (what == nameof(ICatalogue.FinishRemovalAsync) && await rig.CountAsync("loads") == 1)
                throw new CrashException();
        });
        await Assert.ThrowsAsync<CrashException>(() => RemoveAsync(hooks.Wrap(rig.OpenContext()), "Adobe", null, None));
        await LoadAsync(rig, "Adobe", FirstOfNew, New);
        var result = await RemoveAsync(rig.OpenContext(), "Adobe", null, None);
        Assert.Equal([new(2)], result.Loads);
        Assert.Equal([new(3)], result.RemainingLoads);
        Assert.Equal(PipelineRig.Expected(FirstOfNew, New).Order(), (await rig.TableAsync()).Keys.Order());
        Assert.DoesNotContain((await rig.TableAsync()).Values, marks => marks.Contains("b1"));
    }

    [Fact]
    public async Task Removal_keeps_a_mark_that_another_breachs_load_shares()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await LoadAsync(rig, "Adobe", 0, Old);
        await ShareMarkAsync(rig, "Bold.zip");
        var removal = await RemoveAsync(rig.Context, "Adobe", null, None);
        Assert.Equal(0, removal.Entities);
        Assert.Null(await rig.Context.Database.GetBreachAsync("Adobe", None));
        Assert.Equal(New, await FindAllAsync(rig, FirstOfNew, New, "Bold"));
        Assert.Equal(New, await rig.CountAsync("rows"));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Removal_deletes_marks_around_250_from_the_rows_that_hold_them(bool purged)
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.Context.Database.MoveOnAsync(new StoreIds(0, 249), "nothing", None);
        await rig.Context.Register.ConfirmAsync(new StoreIds(0, 249), None);
        foreach (var breach in (string[])["First", "Second", "Third"])
            await LoadAsync(rig, breach, breach == "Second" ? FirstOfNew : 0, Old, purged);
        Assert.Equal([250, 251, 252], (await rig.LoadsAsync()).Select(load => load.Mark));
        foreach (var (breach, mark, left) in new[] { ("Second", "b251", 24), ("First", "b250", 12), ("Third", "b252", 0) })
        {
            Assert.Equal(Old, (await RemoveAsync(rig.Context, breach, null, None)).Entities);
            var rows = await RawTable.ReadAsync(rig.Connection, "accounts");
            Assert.Equal(left, rows.Count);
            Assert.DoesNotContain(rows, row => row.Breaches.Contains(mark) || row.Breaches.Length == 0);
        }
    }

    [Fact]
    public async Task Removal_of_a_partly_purged_load_deletes_every_account()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await LoadAsync(rig, "Adobe", 0, 100);
        Assert.Equal(60, await rig.Context.Database.PurgeRowsAsync(new(1), 60, None));
        Assert.Equal(100, (await RemoveAsync(rig.Context, "Adobe", null, None)).Entities);
        Assert.Empty(await rig.TableAsync());
        Assert.Equal(0, await rig.CountAsync("rows"));
    }

    /// <summary>Makes a load that also has mark 1, as in a store upgraded from schema 1.</summary>
    private static async Task ShareMarkAsync(PipelineRig rig, string blob)
    {
        await rig.IngestAccountsAsync(blob, FirstOfNew, New);
        await rig.ExecuteAsync("UPDATE loads SET mark = 1 WHERE id = 2");
        await rig.RunToEndAsync();
    }

    /// <summary>Gives another worker a lease on the first load's first slice.</summary>
    private static Task LeaseAsync(PipelineRig rig, string until) =>
        rig.ExecuteAsync($"UPDATE slices SET owner = 'somebody', lease_expires_at = {until} WHERE load_id = 1 AND number = 1");
}
