using HibpIngest.Api.Lookup;
using HibpIngest.Pipeline.Layouts;
using HibpIngest.Pipeline.Messaging;
using HibpIngest.Pipeline.Recovery;
using HibpIngest.Pipeline.Removal;
using HibpIngest.Pipeline.Setup;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Tests several layouts over several storage accounts: written concurrently, one of them read, switched, and dropped.</summary>
public sealed class LayoutsTests(ITestOutputHelper output)
{
    private const int Accounts = 150;
    private const string Wide = "wide";
    private static readonly Dictionary<string, int> Spread = new() { ["example.com"] = 8, ["d1.example.org"] = 3 };
    private static readonly Action<TestOptions> Small = options =>
        (options.Ingest.BatchRows, options.Ingest.SliceRows, options.Upsert.Ranges) = (100, 50, RangesMode.On);

    [Fact]
    public async Task Layouts_hold_every_account_in_its_documented_place_and_can_be_switched()
    {
        await using var rig = await PipelineRig.StartAsync(Small, storageAccounts: 4);
        await rig.ImportAsync(("boss@example.net", "example.com"));
        var wide = await AddAsync(rig);
        await rig.LoadAccountsAsync("Adobe.zip", 0, Accounts);
        await rig.LoadAccountsAsync("Bold.zip", 100, 100);
        await LayoutContent.AssertHeldAsync(rig, StoreLayout.First);
        await LayoutContent.AssertHeldAsync(rig, wide);
        Assert.Equal(200, (await rig.TableAsync()).Count);

        // Domain lists in mails use the layout that is read.
        var before = await FindAllAsync(rig);
        Assert.Equal(StoreLayout.First.Name, (await rig.SwitchAsync(Wide)).Name);
        Assert.Equal(before, await FindAllAsync(rig));
        Assert.Equal(200, (await ListDomainsAsync(rig)).Count);
        await rig.LoadAccountsAsync("Cold.zip", 0, 30);
        var mails = rig.Mails().Select(mail => MailReader.Read(Encoding.UTF8.GetBytes(mail.Text)).Leaves.Select(leaf => leaf.Text));
        var listed = Assert.Single(mails.Select(leaves => string.Concat(leaves)), text => text.Contains("Cold", StringComparison.Ordinal));
        Assert.Equal(10, Enumerable.Range(0, 30).Count(i => listed.Contains($"user{i}@example.com", StringComparison.Ordinal)));

        // Switching back works, because both layouts were written all the time.
        Assert.Equal(Wide, (await rig.SwitchAsync("1")).Name);
        Assert.All((await FindAllAsync(rig)).Take(30), names => Assert.Contains("Cold", names, StringComparison.Ordinal));
        await LayoutContent.AssertHeldAsync(rig, StoreLayout.First);
        await LayoutContent.AssertHeldAsync(rig, wide);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Slice_that_retries_failed_writes_is_complete_in_every_layout(bool afterwards)
    {
        const int Rows = 5;
        await using var rig = await PipelineRig.StartAsync(
            options => (options.Ingest.BatchRows, options.Ingest.SliceRows, options.Upsert.TransactionsInFlight, options.Upsert.Ranges)
                = (Rows, Rows, 1, RangesMode.On), storageAccounts: 2);
        var wide = await AddAsync(rig);
        var draw = new CallDraw(oneOf: 2, output.WriteLine);
        var (reached, calls) = (true, 0);
        for (var round = 1; reached; round++)
        {
            var at = draw.Next();
            await rig.DropAccountsAsync($"X{round}.zip", round, Rows);
            var writes = 0;
            var context = rig.OpenContext();
            await PipelineRig.RunToEndAsync(context with { Tables = new HookedTables(context.Tables, Failing, Failing) });
            reached = writes >= at;
            if (reached)
            {
                // Its message is redelivered later, and finds the earlier writes recorded.
                await rig.Context.Queues.Get(QueueNames.Slices).ClearAsync(None);
                await rig.Context.Queues.SendAsync(new SliceMessage { Load = round, Slice = 1 }, TimeSpan.Zero, None);
                await rig.RunToEndAsync();
            }
            Assert.Equal(LoadState.Done, (await rig.LoadAsync(round)).State);
            Assert.Equal(
                PipelineRig.Expected(round, Rows).Order(),
                (await rig.TableAsync()).Where(one => one.Value.Contains($"b{round}")).Select(one => one.Key).Order());
            await LayoutContent.AssertHeldAsync(rig, StoreLayout.First);
            await LayoutContent.AssertHeldAsync(rig, wide);
            calls = at;

            T Failing<T>(T port)
                where T : class
                => PortProxy<T>.Create(
                    port, _ => ++writes == at && !afterwards ? throw new UnavailableException("down") : Task.CompletedTask,
                    () =>
                    {
                        if (writes == at && afterwards)
                            throw new UnavailableException("lost");
                    });
        }
        output.WriteLine($"{calls} writes");
        Assert.True(calls > 2 * (Rows + 2), $"a slice was expected to take more than {calls} writes");
    }

    [Fact]
    public async Task Layout_added_during_a_slice_receives_it_and_misses_earlier_rows_until_rewritten()
    {
        await using var rig = await PipelineRig.StartAsync(Small, storageAccounts: 2);
        await rig.LoadAccountsAsync("Adobe.zip", 0, Accounts);
        await rig.DropAccountsAsync("Bold.zip", Accounts, 50);
        StoreLayout? wide = null;
        var hooks = new HookedPorts(async (_, what) =>
        {
            if (what == nameof(ISlices.CompleteSliceAsync) && wide is null)
                wide = await AddAsync(rig);
        });
        await PipelineRig.RunToEndAsync(hooks.Wrap(rig.OpenContext()));

        var held = await LayoutContent.ReadAccountsAsync(rig, wide!);
        Assert.Equal(PipelineRig.Expected(Accounts, 50).Order(), held.Keys.Order());
        var operations = rig.OpenContext().Get<LayoutOperations>();
        Assert.Equal([("1", true, 0L), (Wide, false, Accounts)], await ShowAsync(operations));
        await Refusal.AssertAsync<NotPossibleException>("is missing 150 rows", () => operations.SwitchAsync(Wide, false, None));
        Assert.Equal(1, (await rig.Context.Register.GetReadLayoutAsync(None))!.Id);

        // A slice that runs again writes to it by itself.
        await rig.Context.Database.RequeueSlicesAsync(new(1), 1, failedOnly: false, None);
        await rig.Context.SweepAsync();
        await rig.Context.Queues.SendAsync(new SliceMessage { Load = 1, Slice = 1 }, TimeSpan.Zero, None);
        await rig.RunToEndAsync();
        Assert.Equal((Wide, false, Accounts - 50L), (await ShowAsync(operations))[1]);
        await rig.Context.Database.RequeueSlicesAsync(new(1), null, failedOnly: false, None);
        foreach (var slice in new[] { 1, 2, 3 })
            await rig.Context.Queues.SendAsync(new SliceMessage { Load = 1, Slice = slice }, TimeSpan.Zero, None);
        await rig.RunToEndAsync();
        Assert.Equal((Wide, false, 0L), (await ShowAsync(operations))[1]);
        await LayoutContent.AssertHeldAsync(rig, wide!);
        await operations.SwitchAsync(Wide, false, None);
        Assert.Equal(Wide, (await rig.Context.Register.GetReadLayoutAsync(None))!.Name);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_breach_is_removed_from_every_layout(bool purged)
    {
        await using var rig = await PipelineRig.StartAsync(Small, storageAccounts: 3);
        var wide = await AddAsync(rig);
        await rig.LoadAccountsAsync("Adobe.zip", 0, Accounts);
        await rig.LoadAccountsAsync("Bold.zip", 100, 60);
        if (purged)
            await rig.Context.Get<PurgeLoad>().RunAsync(new(1), true, null, None);
        // Interrupted midway, it resumes.
        var calls = 0;
        var hooks = new HookedPorts((_, what) => what == nameof(IAccountTable.RemoveMarkAsync) && ++calls == 40
            ? throw new CrashException() : Task.CompletedTask);
        await Assert.ThrowsAsync<CrashException>(() => hooks.Wrap(rig.OpenContext()).GetRemoveBreach(50).RunAsync("Adobe", null, None));
        await rig.OpenContext().GetRemoveBreach(50).RunAsync("Adobe", null, None);

        Assert.Equal(PipelineRig.Expected(100, 60).Order(), (await rig.TableAsync()).Keys.Order());
        Assert.All((await rig.TableAsync()).Values, marks => Assert.Equal(["b2"], marks));
        await LayoutContent.AssertHeldAsync(rig, StoreLayout.First);
        await LayoutContent.AssertHeldAsync(rig, wide);
    }

    [Fact]
    public async Task Ranges_of_a_layout_are_filled_from_its_own_accounts()
    {
        await using var rig = await PipelineRig.StartAsync(Small, storageAccounts: 4);
        var wide = await AddAsync(rig, RangesState.Off);
        await rig.LoadAccountsAsync("Adobe.zip", 0, Accounts);
        Assert.Empty(await LayoutContent.ReadRangesAsync(rig, wide));
        await Refusal.AssertAsync<NotPossibleException>("hibp ranges fill --layout wide", () => rig.SwitchAsync(Wide));
        await Assert.ThrowsAsync<NotPossibleException>(() => rig.OpenContext().Get<FillRanges>().RunAsync("other", null, None));
        Assert.Equal(0, await rig.OpenContext().Get<FillRanges>().RunAsync(null, null, None)); // the layouts that are read have ranges

        Assert.Equal(Accounts, await rig.OpenContext().GetFillRanges(20).RunAsync(Wide, null, None));
        await LayoutContent.AssertHeldAsync(rig, wide with { Ranges = RangesState.On });
        await rig.SwitchAsync(Wide);
        await FindAllAsync(rig);
    }

    [Fact]
    public async Task Layout_change_renews_its_lock_for_as_long_as_it_runs()
    {
        var clock = TestClock.WithTimersByHand();
        await using var rig = await PipelineRig.StartAsync(Small, clock, storageAccounts: 2);
        var (taken, isLong, refused) = (0, true, (Exception?)null);
        var renewed = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var hooks = new HookedPorts(async (_, what) =>
        {
            if (what == nameof(IDatabaseState.TryLockAsync) && ++taken == 11)
                renewed.SetResult(); // about 200 seconds
            if (what != nameof(ILayouts.AddLayoutAsync) || !isLong)
                return;
            isLong = false;
            await clock.AdvanceUntilAsync(renewed.Task, TimeSpan.FromSeconds(21)).WaitAsync(TimeSpan.FromSeconds(30));
            refused = await Record.ExceptionAsync(
                () => rig.OpenContext().Get<LayoutOperations>().AddAsync("other", [1], Spread, RangesState.On, None));
        });
        await hooks.Wrap(rig.OpenContext()).Get<LayoutOperations>().AddAsync(Wide, [1, 2], Spread, RangesState.On, None);
        Assert.Contains(
            "another change of the layouts is in progress", Assert.IsType<NotPossibleException>(refused).Message, StringComparison.Ordinal);
        Assert.Equal(["1", Wide], (await rig.Context.Database.GetLayoutsAsync(None)).Layouts.Select(layout => layout.Name));
        await rig.OpenContext().Get<LayoutOperations>().AddAsync("other", [1], Spread, RangesState.On, None); // the lock was released
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Work_is_aborted_when_its_lock_is_lost(bool isHeldByAnother)
    {
        var clock = TestClock.WithTimersByHand();
        await using var rig = await PipelineRig.StartAsync(Small, clock);
        var begun = new TaskCompletionSource();
        var running = RenewingLock.RunAsync(
            rig.Context.Database, "some", "refused", clock,
            async token =>
            {
                begun.SetResult();
                await Task.Delay(Timeout.InfiniteTimeSpan, token);
                return true;
            },
            None);
        await begun.Task;
        if (isHeldByAnother)
            await rig.ExecuteAsync("UPDATE locks SET owner = 'another', expires_at = 2 * expires_at");
        else
            clock.Advance(TimeSpan.FromSeconds(70)); // another process may have held and released it
        await clock.AdvanceUntilAsync(running, TimeSpan.FromSeconds(21)).WaitAsync(TimeSpan.FromSeconds(30));
        await Refusal.AssertAsync<NotPossibleException>("the lock was lost", () => running);
    }

    [Fact]
    public async Task Layout_drop_waits_for_the_last_writer_and_retires_the_name()
    {
        var clock = TestClock.WithTimersByHand();
        await using var rig = await PipelineRig.StartAsync(Small, clock, storageAccounts: 2);
        await AddAsync(rig);
        await rig.LoadAccountsAsync("Adobe.zip", 0, Accounts);
        var operations = rig.OpenContext().Get<LayoutOperations>();
        await Refusal.AssertAsync<NotPossibleException>("is read", () => operations.DropAsync("1", null, None));
        await Assert.ThrowsAsync<NotPossibleException>(() => operations.DropAsync("other", null, None));

        // A slice that began earlier still writes to it.
        await rig.Context.Database.RequeueSlicesAsync(new(1), 1, failedOnly: false, None);
        var work = await rig.Context.Database.BeginSliceAsync(new(1), 1, "another", TimeSpan.FromDays(3650), 5, None);
        Assert.Equal(2, work!.Layouts.Layouts.Count);
        var dropping = operations.DropAsync(Wide, null, None);
        var beginsToWait = clock.AdvanceUntilAsync(dropping, TimeSpan.FromSeconds(1));
        while (!(await rig.Context.Register.ListLayoutsAsync(None))[1].IsDropped)
            await Task.Yield();
        Assert.False(dropping.IsCompleted);
        Assert.Contains("accountswide", await TablesAsync(rig));
        var ended = await rig.Context.Database.CompleteSliceAsync(new(1), 1, "another", 50, work.Layouts.Version, None);
        Assert.Equal("1", Assert.Single(ended.Layouts!.Layouts).Name);
        Assert.True((await rig.Context.Database.CompleteSliceAsync(new(1), 1, "another", 50, ended.Layouts.Version, None)).IsDone);
        await beginsToWait.WaitAsync(TimeSpan.FromMinutes(2));
        await dropping;

        Assert.DoesNotContain("accountswide", await TablesAsync(rig));
        Assert.DoesNotContain("rangeswide", await TablesAsync(rig));
        await Refusal.AssertAsync<NotPossibleException>("its name can't be reused", () => AddAsync(rig));
        await rig.OpenContext().Get<StoreSetup>().EnsureAsync(None);
        Assert.DoesNotContain("accountswide", await TablesAsync(rig));
        await rig.LoadAccountsAsync("Bold.zip", 0, 20);
        await LayoutContent.AssertHeldAsync(rig, StoreLayout.First);
        await Assert.ThrowsAsync<NotPossibleException>(() => operations.SwitchAsync(Wide, false, None));
    }

    [Fact]
    public async Task Setup_copies_added_and_dropped_layouts_from_the_register_to_a_restored_database()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        var register = rig.Context.Register;
        var added = new StoreLayout { Id = 2, Ranges = RangesState.On, Facts = Named("two") };
        await register.PutLayoutAsync(added, None);
        await register.PutLayoutAsync(new StoreLayout { Id = 3, Ranges = RangesState.On, Facts = Named("three"), IsDropped = true }, None);
        await rig.OpenContext().Get<StoreSetup>().EnsureAsync(None);
        Assert.Equal(["1", "two"], (await rig.Context.Database.GetLayoutsAsync(None)).Layouts.Select(layout => layout.Name));

        await register.TrySwitchAsync(1, 2, None);
        await register.PutLayoutAsync(StoreLayout.First with { IsDropped = true }, None);
        await rig.OpenContext().Get<StoreSetup>().EnsureAsync(None);
        Assert.Equal([added], (await rig.Context.Database.GetLayoutsAsync(None)).Layouts);
        var operations = rig.OpenContext().Get<LayoutOperations>();
        await Refusal.AssertAsync<NotPossibleException>(
            "its name can't be reused", () => operations.AddAsync("three", [1], Spread, RangesState.On, None));
        Assert.Equal(4, (await operations.AddAsync("four", [1], Spread, RangesState.On, None)).Id);

        static LayoutFacts Named(string name) => new() { AccountsTable = $"accounts{name}", RangesTable = $"ranges{name}" };
    }

    [Theory]
    [InlineData("too few", "the store has 3 storage accounts, and this process knows 2")]
    [InlineData("another order", "storage account 2 in the settings was set up as account 3 of this store")]
    [InlineData("another store's", "storage account 3 belongs to another store")]
    public async Task Setup_and_reads_refuse_storage_accounts_that_differ_from_the_stores(string what, string message)
    {
        await using var rig = await PipelineRig.StartAsync(Small, storageAccounts: 3);
        await using var other = await PipelineRig.StartAsync(Small);
        await AddAsync(rig);
        await rig.LoadAccountsAsync("Adobe.zip", 0, 10);
        await rig.SwitchAsync(Wide);
        using var account = StorageAccount.Open(rig.Connection, NullLoggerFactory.Instance, further: what switch
        {
            "too few" => [rig.Further[0]],
            "another order" => [rig.Further[1], rig.Further[0]],
            _ => [rig.Further[0], other.Connection],
        });
        var context = rig.OpenContext() with { StoreAccounts = account.StoreAccounts, Tables = account.Tables };
        var setup = context.Get<StoreSetup>();
        foreach (var check in (Func<Task>[])[() => setup.EnsureAsync(None), () => setup.CheckAsync(None)])
        {
            var refused = await Assert.ThrowsAsync<StoreMismatchException>(check);
            Assert.Contains(message, refused.Message, StringComparison.Ordinal);
            Assert.Contains("HIBP_STORAGE_2", refused.Message, StringComparison.Ordinal);
        }
        // And no account is reported as being in no breach.
        var reads = new LayoutReads(
            account.Register, account.StoreAccounts, account.Tables, rig.Time, NullLogger<LayoutReads>.Instance);
        foreach (var one in PipelineRig.Expected(0, 10))
        {
            await Assert.ThrowsAsync<StoreMismatchException>(
                () => reads.GetMarksAsync(new Account(one.Split('@')[0], one.Split('@')[1]), 1, None));
        }
    }

    [Fact]
    public async Task Store_accepts_an_added_storage_account_and_then_requires_it()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        using var account = StorageAccount.Open(
            rig.Connection, NullLoggerFactory.Instance, further: [await AzuriteFixture.NewAccountAsync()]);
        var context = rig.OpenContext() with { StoreAccounts = account.StoreAccounts, Tables = account.Tables };
        await context.Get<StoreSetup>().EnsureAsync(None);
        Assert.Equal([(1, 2), (2, 2)], await Task.WhenAll(
            Enumerable.Range(1, 2).Select(async number => (await account.StoreAccounts.FindAsync(number, None)) is { } found
                ? (found.Number, found.Of) : default)));
        await Assert.ThrowsAsync<StoreMismatchException>(() => rig.OpenContext().Get<StoreSetup>().EnsureAsync(None));
        await context.Get<StoreSetup>().EnsureAsync(None);
    }

    [Fact]
    public async Task Layout_name_that_cannot_be_a_table_name_is_refused()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await Assert.AllAsync((string[])["1", "", "Wide", "wi-de"], name => Assert.ThrowsAsync<BadInputException>(
            () => rig.Context.Get<LayoutOperations>().AddAsync(name, [1], Spread, RangesState.On, None)));
    }

    private static Task<StoreLayout> AddAsync(PipelineRig rig, RangesState ranges = RangesState.On) =>
        rig.OpenContext().Get<LayoutOperations>().AddAsync(
            Wide, [.. Enumerable.Range(1, rig.Further.Count + 1).Reverse()], Spread, ranges, None);

    private static async Task<(string, bool, long)[]> ShowAsync(LayoutOperations operations) =>
        [.. (await operations.ListAsync(None)).Select(one => (one.Layout.Name, one.IsRead, one.MissingRows))];

    private static async Task<List<string>> TablesAsync(PipelineRig rig) =>
        [.. (await Task.WhenAll(((string[])[rig.Connection, .. rig.Further]).Select(RawTable.ListAsync))).SelectMany(tables => tables)];

    /// <summary>Returns what readers find for each account of the first layout, by address and by range.</summary>
    private static async Task<List<string>> FindAllAsync(PipelineRig rig)
    {
        using var stores = rig.OpenAccount();
        var reads = new LayoutReads(
            stores.Register, stores.StoreAccounts, stores.Tables, rig.Time, NullLogger<LayoutReads>.Instance);
        var catalogue = new CatalogueReader(stores.Catalogue, rig.Time, NullLogger<CatalogueReader>.Instance);
        var (byAddress, byRange) = (new BreachedAccounts(catalogue, reads), new BreachedRanges(catalogue, reads));
        var all = new List<string>();
        foreach (var (one, number) in PipelineRig.Expected(0, 200).Select((one, i) => (one, i)))
        {
            var account = new Account(one.Split('@')[0], one.Split('@')[1]);
            var found = string.Join(' ', (await byAddress.FindAsync(account, None)).Select(breach => breach.Model.Name));
            all.Add(found);
            if (number % 10 > 0)
                continue;
            var hash = Assert.Single(RawTable.RangesOf(new() { [one] = [] }).Keys);
            var entry = (await byRange.FindAsync(hash[..6], None)).SingleOrDefault(entry => entry.Suffix == hash[6..]);
            Assert.Equal(found, string.Join(' ', (entry.Breaches ?? []).Select(breach => breach.Model.Name)));
        }
        return all;
    }

    /// <summary>Returns the accounts that readers find by domain.</summary>
    private static async Task<List<string>> ListDomainsAsync(PipelineRig rig)
    {
        using var account = rig.OpenAccount();
        var reads = new LayoutReads(
            account.Register, account.StoreAccounts, account.Tables, rig.Time, NullLogger<LayoutReads>.Instance);
        var all = new List<string>();
        foreach (var domain in PipelineRig.Expected(0, 200).GroupBy(one => one.Split('@')[1]))
        {
            var listed = new List<string>();
            await foreach (var entry in reads.ReadDomainAsync(domain.Key, None))
                listed.Add($"{entry.Alias}@{domain.Key}");
            Assert.Equal(domain.Order(), listed.Order());
            Assert.True(await reads.HasMoreAccountsAsync(domain.Key, listed.Count - 1, None));
            Assert.False(await reads.HasMoreAccountsAsync(domain.Key, listed.Count, None));
            all.AddRange(listed);
        }
        return all;
    }
}
