using HibpIngest.Accounts;
using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Hosting;
using HibpIngest.Pipeline;
using HibpIngest.Stores;
using Microsoft.Data.Sqlite;
using Xunit.Abstractions;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>
/// A breach is removed with the loads that it has when the removal begins, whatever else happens to it
/// meanwhile, and however often the removal is broken off. The old load is of accounts 0 to 11, a new one of 6
/// to 19.
/// </summary>
public sealed class RemovalTests(ITestOutputHelper output)
{
    private const int Old = 12;
    private const int FirstOfNew = 6;
    private const int New = 14;
    private static readonly CancellationToken None = CancellationToken.None;
    private static readonly string InBoth = PipelineRig.Expected(7, 1).Single();

    private static void Small(PipelineOptions options) =>
        (options.BatchRows, options.SliceRows, options.TransactionsInFlight, options.MailsPerMessage) = (8, 4, 2, 2);

    [Theory]
    [InlineData(false, false)]
    [InlineData(false, true)]
    [InlineData(true, false)]
    [InlineData(true, true)]
    public async Task A_new_drop_at_any_step_keeps_all_it_has(bool purged, bool halfWay)
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.ImportAsync((InBoth, null), ("owner@example.net", "example.com"));
        var (at, reached) = (0, true);
        while (reached)
        {
            at += purged && at > 2 ? 6 : 1; // a walk over the table is of 36 parts
            var breach = $"Adobe{at}";
            var old = await LoadAsync(rig, breach, 0, Old, purged, """{"Title":"Adobe Systems","IsVerified":true}""");
            var mails = rig.Mails().Count;
            var listed = false;
            var (late, where) = (false, "");
            var hooks = new HookedPorts(async (call, what) =>
            {
                if (call == at)
                {
                    (late, where) = (listed, what);
                    await rig.DropAsync($"{breach}.zip", PipelineRig.Zip(("a.csv", PipelineRig.Accounts(FirstOfNew, New))));
                    await (halfWay ? RunHalfWayAsync(rig) : rig.RunToEndAsync());
                }
                listed |= what == nameof(IRemovals.BeginRemovalAsync);
            });
            var removing = RemoveAsync(hooks.Wrap(rig.OpenContext()), breach, null, None);
            var refused = await Record.ExceptionAsync(() => removing);
            reached = hooks.Calls >= at;
            output.WriteLine($"new drop before call {at}, {where}");
            if (reached && !late && halfWay)
            {
                // It came before the listing, and is open: nothing was done.
                Assert.Contains("still open", Assert.IsType<NotPossibleException>(refused).Message, StringComparison.Ordinal);
                await rig.RunToEndAsync();
                Assert.Equal(2, (await LoadsAsync(rig, breach)).Count);
                continue;
            }
            Assert.Null(refused);
            await rig.RunToEndAsync();
            var table = await rig.TableAsync();
            Assert.DoesNotContain(table.Values, marks => marks.Contains($"b{old.Mark}"));
            Assert.Equal(RawTable.RangesOf(table), await rig.RangesAsync());
            if (!reached || !late)
            {
                // It was never dropped, or before the listing.
                Assert.Null(await rig.Context.Database.GetBreachAsync(breach, None));
                continue;
            }
            var fresh = Assert.Single(await LoadsAsync(rig, breach));
            Assert.Equal([fresh.Id], (await removing).Left);
            Assert.Equal((LoadState.Done, (long)New, 2), (fresh.State, fresh.Accounts, fresh.Notifications.Sent));
            var marked = table.Where(one => one.Value.Contains($"b{fresh.Mark}")).Select(one => one.Key);
            Assert.Equal(PipelineRig.Expected(FirstOfNew, New).Order(), marked.Order());
            Assert.Equal(New, await CountAsync(rig, $"rows WHERE id >> 40 = {fresh.Id}"));
            Assert.Equal(mails + 2, rig.Mails().Count);
            var found = Assert.Single(await rig.FindAsync(InBoth), one => one.Name == breach);
            Assert.Equal(("Adobe Systems", true), (found.Title, found.IsVerified));
        }
        Assert.True(at > 12, $"the removal was expected to make more than {at} calls");
        Assert.Equal(0, await CountAsync(rig, "loads WHERE removing"));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_crash_at_any_call_leaves_a_removal_that_is_gone_on_with(bool purged)
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.ImportAsync((InBoth, null));
        var other = await LoadAsync(rig, "Other", FirstOfNew, New);
        for (var (at, crashed) = (1, true); crashed; at += purged ? 5 : 1)
        {
            var breach = $"Adobe{at}";
            var old = await LoadAsync(rig, breach, 0, Old, purged);
            var point = new CrashPoint(at, afterwards: at % 2 == 0);
            var died = await Record.ExceptionAsync(() => RemoveAsync(point.Wrap(rig.OpenContext()), breach, null, None));
            crashed = point.Crashed;
            Assert.Equal(crashed, died is CrashException);
            output.WriteLine($"died at call {at}, {point.Where}");

            // Readers see all of it or nothing.
            var shown = await FindAllAsync(rig, 0, Old, breach);
            Assert.True(shown is 0 or Old, $"{shown} accounts are still found");
            // It may have been done but for the answer.
            if (await rig.Context.Database.GetBreachAsync(breach, None) is not null)
                await RemoveAsync(rig.OpenContext(), breach, null, None);
            Assert.Null(await rig.Context.Database.GetBreachAsync(breach, None));
            Assert.Empty(await LoadsAsync(rig, breach));
            var table = await rig.TableAsync();
            Assert.Equal(PipelineRig.Expected(FirstOfNew, New).Order(), table.Keys.Order());
            Assert.All(table.Values, marks => Assert.Equal([$"b{other.Mark}"], marks));
            Assert.Equal(RawTable.RangesOf(table), await rig.RangesAsync());
            Assert.Equal(New, await CountAsync(rig, "rows"));
            Assert.Equal((1, 1), (await CountAsync(rig, "notifications"), await CountAsync(rig, "loads")));
        }
        Assert.Equal(New, await FindAllAsync(rig, FirstOfNew, New, "Other"));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Stopped_it_can_be_gone_on_with_and_does_nothing_twice(bool purged)
    {
        const int Accounts = 300;
        await using var rig = await PipelineRig.StartAsync(
            options => (options.BatchRows, options.SliceRows, options.TransactionsInFlight) = (100, 50, 1));
        await LoadAsync(rig, "Adobe", 0, Accounts, purged);
        using var stop = new CancellationTokenSource();
        var removed = 0;
        var hooks = new HookedPorts(async (_, what) =>
        {
            // In the second chunk, or once the first part of the table that holds any is done.
            var reached = purged
                ? what == nameof(IRemovals.SetRemovalTokenAsync) && (await rig.TableAsync()).Count < Accounts
                : what == nameof(IAccountTable.RemoveMarkAsync) && ++removed == 11; // 4 of accounts and 5 of hashes before
            if (reached)
                await stop.CancelAsync();
        });
        var stopped = RemoveAsync(hooks.Wrap(rig.OpenContext()), "Adobe", null, stop.Token);
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => stopped);
        var left = (await rig.TableAsync()).Count;
        Assert.InRange(left, 1, Accounts - 1);

        var progress = new Reports();
        var result = await RemoveAsync(rig.OpenContext(), "adobe", progress, None);
        Assert.Equal(("Adobe", (long)left), (result.Breach, result.Entities));
        Assert.Equal([1L], result.Loads);
        Assert.Empty(result.Left);
        Assert.Empty(await rig.TableAsync());
        Assert.Equal(0, await CountAsync(rig, "rows"));
        Assert.Equal(progress.Seen[^1].Total, progress.Seen[^1].Done);
        Assert.Equal(purged ? Accounts : Accounts - 5, progress.Seen[^1].Total);
        Assert.All(progress.Seen, one => Assert.InRange(one.Done, 0, Accounts));
    }

    [Fact]
    public async Task Two_who_remove_the_same_breach_do_it_together()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await LoadAsync(rig, "Adobe", 0, 200);
        await LoadAsync(rig, "Other", 100, 200);
        await Task.WhenAll(Enumerable.Range(0, 3).Select(async _ =>
        {
            // Whoever comes last may find it gone.
            var error = await Record.ExceptionAsync(() => RemoveAsync(rig.OpenContext(), "Adobe", null, None));
            Assert.True(error is null or NotPossibleException, $"{error}");
        }));
        Assert.Null(await rig.Context.Database.GetBreachAsync("Adobe", None));
        Assert.Equal(PipelineRig.Expected(100, 200).Order(), (await rig.TableAsync()).Keys.Order());
        Assert.All((await rig.TableAsync()).Values, marks => Assert.Equal(["b2"], marks));
    }

    [Fact]
    public async Task A_slice_that_is_under_way_is_waited_for_and_one_that_comes_late_writes_nothing()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.DropAsync("Adobe.zip", PipelineRig.Zip(("a.csv", PipelineRig.Accounts(0, Old))));
        await rig.Context.NewBlobScan().RunAsync(TimeSpan.Zero, None);
        await TakeAsync(rig, QueueNames.Ingest, 1);
        await rig.Context.Database.FailLoadAsync(1, owner: null, "bad", superseded: false, None);
        Assert.NotNull(await rig.Context.Database.BeginSliceAnyAsync(1, 1));
        await LeaseAsync(rig, "strftime('%s', 'now', '+1 hour') * 1000");

        var looks = 0;
        var hooks = new HookedPorts(async (_, what) =>
        {
            if (what == nameof(IRemovals.HasLivingSlicesAsync) && ++looks == 2)
            {
                // Its last words.
                var rows = new AccountBatch(4);
                await rig.Context.Database.ReadRowsAsync(1, 1, 4, rows, None);
                for (var i = 0; i < rows.Count; i++)
                {
                    await rig.Context.Table.UpsertAsync(
                        rows.DomainMemory(i), new[] { rows.AliasRange(i) }, rows.Memory, 1, new TransactionsInFlight(1, None), None);
                }
                await LeaseAsync(rig, "NULL");
            }
            Assert.False(what == nameof(IAccountTable.RemoveMarkAsync) && looks < 2, "the table was walked beside a slice");
        });
        var progress = new Reports();
        Assert.Equal(4, (await RemoveAsync(hooks.Wrap(rig.OpenContext()), "Adobe", progress, None)).Entities);
        Assert.Equal(2, looks);
        Assert.Contains(progress.Seen, one => one.Waiting);
        Assert.Empty(await rig.TableAsync());

        // The messages of all three slices come only now.
        Assert.Equal(3, (await rig.DepthsAsync())[QueueNames.Slices]);
        await rig.RunToEndAsync();
        Assert.Empty(await rig.TableAsync());
        Assert.Empty(await rig.LoadsAsync());
        Assert.All((await rig.DepthsAsync()).Values, depth => Assert.Equal(0, depth));
    }

    [Fact]
    public async Task A_slice_that_never_ends_is_not_waited_for_for_ever()
    {
        var time = TestClock.WithTimersByHand();
        await using var rig = await PipelineRig.StartAsync(Small, time);
        await LoadAsync(rig, "Adobe", 0, Old);
        await LeaseAsync(rig, "9000000000000");
        var removing = RemoveAsync(rig.OpenContext(), "Adobe", null, None);
        await time.AdvanceUntilAsync(removing, TimeSpan.FromSeconds(1)).WaitAsync(TimeSpan.FromMinutes(2));
        var tooLong = await Assert.ThrowsAsync<NotPossibleException>(() => removing);
        Assert.Contains("still at work", tooLong.Message, StringComparison.Ordinal);
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
    public async Task A_table_that_is_down_for_a_moment_is_waited_for_and_one_that_stays_so_is_not(bool purged, int failures)
    {
        var time = TestClock.WithTimersByHand();
        await using var rig = await PipelineRig.StartAsync(options => options.TransactionsInFlight = 1, time);
        await LoadAsync(rig, "Adobe", 0, Old, purged);
        var failed = 0;
        var hooks = new HookedPorts((_, what) => what == nameof(IAccountTable.RemoveMarkAsync) && failed++ < failures
            ? throw new StoreUnavailableException("the table is down")
            : Task.CompletedTask);
        var removing = RemoveAsync(hooks.Wrap(rig.OpenContext()), "Adobe", null, None);
        // No pause is longer, so that none outlasts a step.
        await time.AdvanceUntilAsync(removing, TimeSpan.FromSeconds(64)).WaitAsync(TimeSpan.FromMinutes(2));
        if (failures == 5)
        {
            Assert.Equal(Old, (await removing).Entities);
            Assert.Empty(await rig.TableAsync());
            return;
        }
        await Assert.ThrowsAsync<StoreUnavailableException>(() => removing);
        Assert.Equal(8, failed);
        Assert.Equal(Old, (await RemoveAsync(rig.OpenContext(), "Adobe", null, None)).Entities);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(2)]
    public async Task Loads_that_share_a_mark_go_together(int purgedLoads)
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await LoadAsync(rig, "Adobe", 0, Old);
        await ShareMarkAsync(rig, "Adobe.2.zip");
        Assert.All((await rig.TableAsync()).Values, marks => Assert.Equal(["b1"], marks));
        for (var load = 1; load <= purgedLoads; load++)
            await rig.Context.NewLoadOperations().PurgeAsync(load, null, None);
        // Broken off when the first load is gone, and another one has come.
        var hooks = new HookedPorts(async (_, what) =>
        {
            if (what == nameof(IRemovals.FinishRemovalAsync) && await CountAsync(rig, "loads") == 1)
                throw new CrashException();
        });
        await Assert.ThrowsAsync<CrashException>(() => RemoveAsync(hooks.Wrap(rig.OpenContext()), "Adobe", null, None));
        await LoadAsync(rig, "Adobe", FirstOfNew, New);
        var result = await RemoveAsync(rig.OpenContext(), "Adobe", null, None);
        Assert.Equal([2L], result.Loads);
        Assert.Equal([3L], result.Left);
        Assert.Equal(PipelineRig.Expected(FirstOfNew, New).Order(), (await rig.TableAsync()).Keys.Order());
        Assert.DoesNotContain((await rig.TableAsync()).Values, marks => marks.Contains("b1"));
    }

    [Fact]
    public async Task A_mark_stays_where_another_breachs_load_has_it_too()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await LoadAsync(rig, "Adobe", 0, Old);
        await ShareMarkAsync(rig, "Bold.zip");
        var removal = await RemoveAsync(rig.Context, "Adobe", null, None);
        Assert.Equal(0, removal.Entities);
        Assert.Null(await rig.Context.Database.GetBreachAsync("Adobe", None));
        Assert.Equal(New, await FindAllAsync(rig, FirstOfNew, New, "Bold"));
        Assert.Equal(New, await CountAsync(rig, "rows"));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Marks_about_250_go_from_the_rows_they_lie_in(bool purged)
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
    public async Task Rows_that_are_half_purged_are_no_measure()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await LoadAsync(rig, "Adobe", 0, 100);
        Assert.Equal(60, await rig.Context.Database.PurgeRowsAsync(1, 60, None));
        Assert.Equal(100, (await RemoveAsync(rig.Context, "Adobe", null, None)).Entities);
        Assert.Empty(await rig.TableAsync());
        Assert.Equal(0, await CountAsync(rig, "rows"));
    }

    /// <summary>In chunks of a few rows, so that there are several.</summary>
    private static Task<BreachRemoval> RemoveAsync(
        PipelineContext context, string breach, IProgress<RemovalProgress>? progress, CancellationToken cancellationToken) =>
        context.NewRemoveBreach(chunkRows: 5).RunAsync(breach, progress, cancellationToken);

    private static async Task<Load> LoadAsync(
        PipelineRig rig, string breach, int first, int count, bool purged = false, string? metadata = null)
    {
        var blob = await rig.DropAsync($"{breach}.zip", PipelineRig.Zip(("a.csv", PipelineRig.Accounts(first, count))), metadata);
        await rig.RunToEndAsync();
        var load = (await rig.LoadsAsync()).Last(one => one.Blob == blob);
        Assert.Equal(LoadState.Done, load.State);
        if (purged)
            await rig.Context.NewLoadOperations().PurgeAsync(load.Id, null, None);
        return load;
    }

    /// <summary>A load that has mark 1 too, as in a store that was upgraded from schema 1.</summary>
    private static async Task ShareMarkAsync(PipelineRig rig, string blob)
    {
        await rig.DropAsync(blob, PipelineRig.Zip(("a.csv", PipelineRig.Accounts(FirstOfNew, New))));
        await rig.Context.NewBlobScan().RunAsync(TimeSpan.Zero, None);
        await TakeAsync(rig, QueueNames.Ingest, 1);
        await ExecuteAsync(rig, "UPDATE loads SET mark = 1 WHERE id = 2");
        await rig.RunToEndAsync();
    }

    /// <summary>Scans, ingests, and does one of the slices.</summary>
    private static async Task RunHalfWayAsync(PipelineRig rig)
    {
        await rig.Context.NewBlobScan().RunAsync(TimeSpan.Zero, None);
        await TakeAsync(rig, QueueNames.Ingest, 1);
        await TakeAsync(rig, QueueNames.Slices, 1);
    }

    private static async Task TakeAsync(PipelineRig rig, string queue, int messages)
    {
        var dispatcher = rig.Context.NewDispatcher();
        foreach (var message in await rig.Context.Queues.Get(queue).ReceiveAsync(messages, TimeSpan.FromMinutes(10), None))
        {
            await dispatcher.DispatchAsync(queue, message.Body, None);
            await rig.Context.Queues.Get(queue).DeleteAsync(message, None);
        }
    }

    private static async Task<IReadOnlyList<Load>> LoadsAsync(PipelineRig rig, string breach) =>
        await rig.Context.Database.ListLoadsAsync(breach, None);

    private static async Task<int> FindAllAsync(PipelineRig rig, int first, int count, string breach)
    {
        var found = 0;
        foreach (var account in PipelineRig.Expected(first, count))
            found += (await rig.FindAsync(account)).Count(one => one.Name == breach);
        return found;
    }

    /// <summary>Somebody is at work on the first slice of the first load, until then.</summary>
    private static Task LeaseAsync(PipelineRig rig, string until) =>
        ExecuteAsync(rig, $"UPDATE slices SET owner = 'somebody', lease_expires_at = {until} WHERE load_id = 1 AND number = 1");

    private static async Task<long> CountAsync(PipelineRig rig, string table) =>
        (long)(await ExecuteAsync(rig, $"SELECT COUNT(*) FROM {table}"))!;

    private static async Task<object?> ExecuteAsync(PipelineRig rig, string sql)
    {
        await using var connection = new SqliteConnection($"Data Source={rig.DatabaseFile};Pooling=False");
        await connection.OpenAsync();
        await using var command = connection.CreateCommand();
        command.CommandText = sql;
        return await command.ExecuteScalarAsync();
    }

    private sealed class Reports : IProgress<RemovalProgress>
    {
        public List<RemovalProgress> Seen { get; } = [];

        public void Report(RemovalProgress value)
        {
            lock (Seen)
                Seen.Add(value);
        }
    }
}
