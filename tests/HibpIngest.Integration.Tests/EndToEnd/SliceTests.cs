using HibpIngest.Pipeline.Messaging;
using HibpIngest.Pipeline.Upsert;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Tests a slice's lease: its owner, what stops it, and which progress is kept.</summary>
public sealed class SliceTests
{
    private const int Accounts = 150;
    private static readonly Action<TestOptions> OneSlice = options =>
        (options.Ingest.BatchRows, options.Ingest.SliceRows, options.Upsert.TransactionsInFlight, options.Upsert.Ranges)
            = (Accounts, Accounts, 1, RangesMode.On);
    private static readonly TimeSpan TestTimeout = TimeSpan.FromMinutes(2);

    [Fact]
    public async Task Slice_message_is_deferred_while_another_worker_holds_the_lease()
    {
        await using var rig = await IngestedAsync(OneSlice);
        Assert.Null((await BeginElsewhereAsync(rig))!.HeldUntil);
        await HandleOneAsync(rig.Context);

        Assert.Empty(await rig.TableAsync());
        Assert.Equal(1, (await rig.DepthsAsync())[QueueNames.Slices]);
        Assert.Empty(await rig.Context.Queues.Get(QueueNames.Slices).PeekAsync(1, None)); // hidden
        Assert.Equal((SliceState.Queued, 1), await SliceAsync(rig));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Deferred_slice_skips_transactions_that_are_already_written(bool throttled)
    {
        await using var rig = await IngestedAsync(OneSlice);
        // The accounts' and the ranges' transactions are interleaved; each domain's accounts are one.
        var domains = PipelineRig.Expected(0, Accounts).Select(account => account.Split('@')[1]).Distinct().Count();
        var (number, written, all) = (0, 0, 0);
        for (var after = 2; (await SliceAsync(rig)).State != SliceState.Done; after += 2)
        {
            // Each attempt completes some more transactions, and is deferred.
            number = 0;
            if (all > 0)
                await SendAsync(rig); // the deferred message is hidden
            await HandleOneAsync(Upserts(rig, () =>
            {
                if (++number > after)
                    throw throttled ? new StoreThrottledException("busy") : new UnavailableException("the table is down");
                written++;
                return Task.CompletedTask;
            }));
            var slice = Assert.Single(await rig.SlicesAsync(1));
            if (slice.State != SliceState.Done)
            {
                Assert.Equal(
                    (SliceState.Queued, 0, throttled ? "busy" : "the table is down"), (slice.State, slice.Attempts, slice.Error));
                Assert.Empty(await rig.Context.Queues.Get(QueueNames.Slices).PeekAsync(1, None)); // hidden
            }
            Assert.True(all++ < 20, "it never ends");
        }
        Assert.True(all > 2, "the fault was expected to be met");
        Assert.Equal(domains, written); // each once
        Assert.Equal(PipelineRig.Expected(0, Accounts).Order(), (await rig.TableAsync()).Keys.Order());
    }

    [Theory]
    [InlineData("superseded")]
    [InlineData("requeued")]
    public async Task Slice_superseded_or_requeued_while_running_ends_without_a_failure(string by)
    {
        await using var rig = await IngestedAsync(
            OneSlice + (options => options.Upsert.SliceLease = TimeSpan.FromSeconds(1.5))); // renewed every half second
        var (table, entered) = Waiting(rig);
        var running = HandleOneAsync(rig.Context.WithTable(table));
        await entered.WaitAsync(TestTimeout);
        if (by == "superseded")
            Assert.True(await rig.Context.Database.FailLoadAsync(new(1), owner: null, "replaced", superseded: true, None));
        else
            await rig.Context.Database.RequeueSlicesAsync(new(1), 1, failedOnly: false, None);
        await running.WaitAsync(TestTimeout);

        var slice = Assert.Single(await rig.SlicesAsync(1));
        Assert.Equal((by == "superseded" ? SliceState.Queued : SliceState.Pending, 0, null), (slice.State, slice.Attempts, slice.Error));
        Assert.Equal(0, (await rig.DepthsAsync())[QueueNames.Slices]); // acknowledged
    }

    [Fact]
    public async Task Slice_throttled_for_half_the_plan_limit_is_deferred_without_costing_an_attempt()
    {
        await using var rig = await IngestedAsync(OneSlice + (options => options.Ingest.PlanLimit = TimeSpan.FromSeconds(2)));
        var (table, _) = Waiting(rig);
        await HandleOneAsync(rig.Context.WithTable(table)).WaitAsync(TestTimeout);
        var slice = Assert.Single(await rig.SlicesAsync(1));
        Assert.Equal((SliceState.Queued, 0, "waited"), (slice.State, slice.Attempts, slice.Error));
        Assert.Equal(1, (await rig.DepthsAsync())[QueueNames.Slices]);

        // Without a limit it waits.
        rig.Options.Ingest.PlanLimit = TimeSpan.Zero;
        using var stop = new CancellationTokenSource();
        (table, var entered) = Waiting(rig);
        await SendAsync(rig);
        var waiting = HandleOneAsync(rig.Context.WithTable(table), stop.Token);
        await entered.WaitAsync(TestTimeout);
        await stop.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => waiting.WaitAsync(TestTimeout));
        Assert.Equal((SliceState.Queued, 0), await SliceAsync(rig));
    }

    [Fact]
    public async Task Slices_that_run_at_once_write_the_accounts_of_a_domain_together()
    {
        await using var rig = await IngestedAsync(OneSlice + (options => options.Ingest.SliceRows = Accounts / 2));
        var (firstBegan, bothBegan, transactions) = (NewSource(), NewSource(), 0);
        var stage = Upserts(rig, () =>
        {
            (Interlocked.Increment(ref transactions) == 1 ? firstBegan : bothBegan).TrySetResult();
            return bothBegan.Task;
        }).Get<UpsertSlice>();
        var slices = await rig.SlicesAsync(1);
        var first = stage.RunAsync(slices[0]);
        await firstBegan.Task.WaitAsync(TestTimeout);
        await Task.WhenAll(first, stage.RunAsync(slices[1])).WaitAsync(TestTimeout);

        // One for each domain, and one more for the domain that was being written before the second slice began.
        Assert.Equal(PipelineRig.Expected(0, Accounts).Select(account => account.Split('@')[1]).Distinct().Count() + 1, transactions);
        Assert.All(await rig.SlicesAsync(1), slice => Assert.Equal(SliceState.Done, slice.State));
        Assert.Equal(PipelineRig.Expected(0, Accounts).Order(), (await rig.TableAsync()).Keys.Order());
        Assert.Equal(await rig.ExpectedRangesAsync(), await rig.RangesAsync());
    }

    [Fact]
    public async Task Rows_that_a_stopped_slice_has_not_written_are_written_by_no_other()
    {
        await using var rig = await IngestedAsync(OneSlice + (options => options.Ingest.SliceRows = Accounts / 2));
        var (transactions, allowed) = (0, 2);
        var stage = Upserts(rig, () => ++transactions > allowed ? throw new UnavailableException("busy") : Task.CompletedTask)
            .Get<UpsertSlice>();
        var slices = await rig.SlicesAsync(1);
        await Assert.ThrowsAsync<UnavailableException>(() => stage.RunAsync(slices[0]));
        allowed = int.MaxValue;
        await stage.RunAsync(slices[1]);

        // The second slice may use the buffers of the first: rows taken from them would be wrong accounts.
        var table = (await rig.TableAsync()).Keys.ToHashSet();
        Assert.Subset(PipelineRig.Expected(0, Accounts).ToHashSet(), table);
        Assert.InRange(table.Count, (Accounts / 2) + 1, Accounts - 1);
        await stage.RunAsync(slices[0]);
        Assert.Equal(PipelineRig.Expected(0, Accounts).Order(), (await rig.TableAsync()).Keys.Order());
        Assert.Equal(await rig.ExpectedRangesAsync(), await rig.RangesAsync());
    }

    [Fact]
    public void Transactions_of_one_domain_and_of_each_table_are_spread_evenly()
    {
        var rows = SliceBuffers.Rent(10_000);
        for (var i = 0; i < 10_000; i++)
            rows.Accounts.Add(
                Encoding.ASCII.GetBytes($"user{i}"), Encoding.ASCII.GetBytes(i < 3_300 ? "gmail.com" : $"d{i % 67:00}.example.org"));
        var domains = Read(withRanges: false).ConvertAll(transaction => Encoding.ASCII.GetString(transaction.Partition.Span));
        var ofRanges = Read(withRanges: true).ConvertAll(transaction => transaction.OfRanges);
        SliceBuffers.Return(rows);

        Assert.Equal(33 + 67, domains.Count);
        for (var first = 0; first + 16 <= domains.Count; first++)
            Assert.InRange(domains.Skip(first).Take(16).Count(domain => domain == "gmail.com"), 3, 8);
        // Wherever they are cut, each table has its share, within a few transactions.
        Assert.Equal((256, 100), (ofRanges.Count(one => one), ofRanges.Count(one => !one)));
        for (var end = 1; end <= ofRanges.Count; end++)
            Assert.InRange(ofRanges.Take(end).Count(one => one) - (end * 256.0 / ofRanges.Count), -4, 4);

        List<SliceTransaction> Read(bool withRanges)
        {
            var layout = new SliceLayout(new LayoutPlacement(new LayoutFacts()), withRanges);
            return [.. Enumerable.Range(0, rows.Group([layout])).Select(rows.Transaction)];
        }
    }

    [Theory]
    [InlineData(RangesState.Off, RangesState.Filling)]
    [InlineData(RangesState.Filling, RangesState.On)]
    public async Task Slice_is_rewritten_when_the_layouts_change_while_it_runs(RangesState before, RangesState after)
    {
        await using var rig = await IngestedAsync(OneSlice + (options => options.Upsert.Ranges = RangesMode.Off));
        await rig.Context.Database.RaiseRangesAsync(1, before, None);
        var completions = 0;
        var hooks = new HookedPorts(async (_, what) =>
        {
            if (what == nameof(ISlices.CompleteSliceAsync) && ++completions == 1)
                await rig.Context.Database.RaiseRangesAsync(1, after, None);
        });
        await HandleOneAsync(hooks.Wrap(rig.OpenContext()));

        Assert.Equal(2, completions);
        Assert.Equal((SliceState.Done, 1), await SliceAsync(rig));
        Assert.Equal(Accounts, Assert.Single(await rig.LoadsAsync()).Entities); // accounts only, not rows of both tables
        Assert.Equal(PipelineRig.Expected(0, Accounts).Order(), (await rig.TableAsync()).Keys.Order());
        var ranges = await rig.RangesAsync();
        Assert.Equal(await rig.ExpectedRangesAsync(), ranges);
        Assert.Equal(Accounts, ranges.Count);
    }

    [Fact]
    public async Task Progress_recorded_for_another_order_or_other_layouts_is_ignored()
    {
        await using var rig = await IngestedAsync(OneSlice);
        var transactions = 0;
        var counting = new HookedPorts((_, what) => Task.FromResult(what == nameof(IAccountTable.UpsertAsync) ? ++transactions : 0));
        var (order, layouts) = (SliceBuffers.OrderVersion, (await rig.Context.Database.GetLayoutsAsync(None)).Version);
        await HandleOneAsync(counting.Wrap(rig.OpenContext()));
        var all = transactions;
        Assert.InRange(all, 100, 18 + 256);
        var length = (all + 7) / 8;
        foreach (var (orderVersion, layoutVersion, bytes, left) in new[]
        {
            (order, layouts - 1, length, all), (order + 1, layouts, length, all), (order, layouts, 64, all), (order, layouts, length, 0),
        })
        {
            await rig.Context.Database.RequeueSlicesAsync(new(1), 1, failedOnly: false, None);
            await BeginElsewhereAsync(rig);
            var done = new byte[bytes];
            Array.Fill(done, (byte)0xFF);
            var progress = new SliceProgress(orderVersion, done) { LayoutVersion = layoutVersion };
            await rig.Context.Database.RefundSliceAttemptAsync(new(1), 1, "another", progress, null, None);
            transactions = 0;
            await HandleAsync(rig, counting.Wrap(rig.OpenContext()));
            Assert.Equal(left, transactions);
        }
    }

    /// <summary>Ingests a load of one slice, whose message is in the queue.</summary>
    private static async Task<PipelineRig> IngestedAsync(Action<TestOptions> configure)
    {
        var rig = await PipelineRig.StartAsync(configure);
        await rig.IngestAccountsAsync("X.zip", 0, Accounts);
        return rig;
    }

    private static Task<SliceWork?> BeginElsewhereAsync(PipelineRig rig) =>
        rig.Context.Database.BeginSliceAsync(new(1), 1, "another", TimeSpan.FromMinutes(1), 5, None);

    private static Task SendAsync(PipelineRig rig) =>
        rig.Context.Queues.SendAsync(new SliceMessage { Load = 1, Slice = 1 }, TimeSpan.Zero, None);

    private static async Task HandleAsync(PipelineRig rig, PipelineParts context)
    {
        await SendAsync(rig);
        await HandleOneAsync(context);
    }

    /// <summary>Processes a visible slice message; there must be one.</summary>
    private static async Task HandleOneAsync(PipelineParts context, CancellationToken cancellationToken = default) =>
        Assert.Equal(1, await context.HandleMessagesAsync(QueueNames.Slices, limit: 1, cancellationToken));

    private static async Task<(SliceState State, int Attempts)> SliceAsync(PipelineRig rig) =>
        Assert.Single(await rig.SlicesAsync(1)) is var slice ? (slice.State, slice.Attempts) : default;

    /// <summary>Returns parts that call the test before each transaction of accounts.</summary>
    private static PipelineParts Upserts(PipelineRig rig, Func<Task> before) => rig.Context.WithTable(
        PortProxy<IAccountTable>.Create(
            rig.Context.Table, method => method == nameof(IAccountTable.UpsertAsync) ? before() : Task.CompletedTask));

    /// <summary>Returns a table that always throttles, and a task that ends when it is first called.</summary>
    private static (IAccountTable Table, Task Entered) Waiting(PipelineRig rig)
    {
        var entered = NewSource();
        var table = PortProxy<IAccountTable>.Create(rig.Context.Table, async (_, arguments) =>
        {
            entered.TrySetResult();
            var inFlight = arguments.OfType<TransactionsInFlight>().Single();
            await Task.Delay(Timeout.InfiniteTimeSpan, inFlight.StopWaiting).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            throw new StoreThrottledException("waited");
        });
        return (table, entered.Task);
    }

    private static TaskCompletionSource NewSource() => new(TaskCreationOptions.RunContinuationsAsynchronously);
}
