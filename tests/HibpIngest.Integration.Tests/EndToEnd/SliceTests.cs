using System.Collections.Concurrent;
using System.Security.Cryptography;
using HibpIngest.Hosting;
using HibpIngest.Hosting.Messages;
using HibpIngest.Pipeline.Ingest;
using HibpIngest.Pipeline.Messaging;
using HibpIngest.Pipeline.Upsert;
using Xunit.Abstractions;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Tests a slice's lease: its owner, what stops it, and which progress is kept.</summary>
public sealed class SliceTests(ITestOutputHelper output)
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
        Assert.Null(
            (await rig.Context.Database.BeginSliceAsync(new(1), 1, "another", TimeSpan.FromMinutes(1), 5, CancellationToken.None))!
                .HeldUntil);
        var table = new RecordingTable(rig.Context.Table);
        await DispatchAsync(rig.Context.WithTable(table));

        Assert.Empty(table.Written);
        Assert.Equal(1, (await rig.DepthsAsync())[QueueNames.Slices]);
        Assert.Empty(await rig.Context.Queues.Get(QueueNames.Slices).PeekAsync(1, CancellationToken.None)); // hidden
        Assert.Equal((SliceState.Queued, 1), await SliceAsync(rig));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Deferred_slice_skips_transactions_that_are_already_written(bool throttled)
    {
        await using var rig = await IngestedAsync(OneSlice);
        var table = new RecordingTable(rig.Context.Table);
        var all = 0;
        for (var after = 2; (await SliceAsync(rig)).State != SliceState.Done; after += 5)
        {
            // Each attempt completes some more transactions, and is deferred.
            table.Before = number => number <= after ? null
                : throttled ? new StoreThrottledException("busy") : new UnavailableException("the table is down");
            await SendAsync(rig);
            await DispatchAsync(rig.Context.WithTable(table));
            if ((await SliceAsync(rig)).State != SliceState.Done)
                Assert.Equal(0, (await SliceAsync(rig)).Attempts);
            Assert.True(all++ < 20, "it never ends");
        }
        Assert.True(all > 2, "the fault was expected to be met");
        Assert.Equal(PipelineRig.Expected(0, Accounts).Order(), table.Written.Order()); // each once
        Assert.Equal(Accounts, (await rig.TableAsync()).Count);
    }

    [Fact]
    public async Task Progress_recorded_for_another_order_is_ignored()
    {
        await using var rig = await IngestedAsync(OneSlice);
        var done = new byte[64];
        Array.Fill(done, (byte)0xFF);
        foreach (var progress in new[] { new SliceProgress(SliceBuffers.OrderVersion + 1, done[..3]), new SliceProgress(
                SliceBuffers.OrderVersion, done) })
        {
            await rig.Context.Database.BeginSliceAsync(new(1), 1, "another", TimeSpan.FromMinutes(1), 5, CancellationToken.None);
            await rig.Context.Database.RefundSliceAttemptAsync(new(1), 1, "another", progress, null, CancellationToken.None);
            var table = new RecordingTable(rig.Context.Table);
            await SendAsync(rig);
            await DispatchAsync(rig.Context.WithTable(table));
            Assert.Equal(Accounts, table.Written.Count);
            await rig.Context.Database.RequeueSlicesAsync(new(1), 1, failedOnly: false, CancellationToken.None);
        }
    }

    [Theory]
    [InlineData("superseded")]
    [InlineData("requeued")]
    public async Task Slice_superseded_or_requeued_while_running_ends_without_a_failure(string by)
    {
        await using var rig = await IngestedAsync(options =>
        {
            OneSlice(options);
            options.Upsert.SliceLease = TimeSpan.FromSeconds(1.5); // renewed every half second
        });
        var table = new WaitingTable();
        var running = DispatchAsync(rig.Context.WithTable(table));
        await table.Entered.Task.WaitAsync(TestTimeout);
        if (by == "superseded")
            Assert.True(
                await rig.Context.Database.FailLoadAsync(new(1), owner: null, "replaced", superseded: true, CancellationToken.None));
        else
            await rig.Context.Database.RequeueSlicesAsync(new(1), 1, failedOnly: false, CancellationToken.None);
        await running.WaitAsync(TestTimeout);

        var slice = Assert.Single(await rig.SlicesAsync(1));
        Assert.Equal((by == "superseded" ? SliceState.Queued : SliceState.Pending, 0, null), (slice.State, slice.Attempts, slice.Error));
        Assert.Equal(0, (await rig.DepthsAsync())[QueueNames.Slices]); // acknowledged
    }

    [Fact]
    public async Task Slice_throttled_for_half_the_plan_limit_is_deferred_without_costing_an_attempt()
    {
        await using var rig = await IngestedAsync(options =>
        {
            OneSlice(options);
            options.Ingest.PlanLimit = TimeSpan.FromSeconds(2);
        });
        var table = new WaitingTable();
        await DispatchAsync(rig.Context.WithTable(table)).WaitAsync(TestTimeout);
        var slice = Assert.Single(await rig.SlicesAsync(1));
        Assert.Equal((SliceState.Queued, 0, "waited"), (slice.State, slice.Attempts, slice.Error));
        Assert.Equal(1, (await rig.DepthsAsync())[QueueNames.Slices]);

        // Without a limit it waits.
        rig.Options.Ingest.PlanLimit = TimeSpan.Zero;
        using var stop = new CancellationTokenSource();
        table = new WaitingTable();
        await SendAsync(rig);
        var waiting = DispatchAsync(rig.Context.WithTable(table), stop.Token);
        await table.Entered.Task.WaitAsync(TestTimeout);
        await stop.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => waiting.WaitAsync(TestTimeout));
        Assert.Equal((SliceState.Queued, 0), await SliceAsync(rig));
    }

    [Fact]
    public void Transactions_of_one_domain_are_spread_evenly_in_a_stable_order()
    {
        var orders = Enumerable.Range(0, 2).Select(_ => Order()).ToArray();
        Assert.Equal(orders[0], orders[1]);
        var order = orders[0];
        Assert.Equal(33 + 67, order.Count);
        for (var first = 0; first + 16 <= order.Count; first++)
            Assert.InRange(order.Skip(first).Take(16).Count(domain => domain == "gmail.com"), 3, 8);

        static List<string> Order()
        {
            var rows = SliceBuffers.Rent(10_000);
            for (var i = 0; i < 10_000; i++)
                rows.Accounts.Add(
                    Encoding.ASCII.GetBytes($"user{i}"), Encoding.ASCII.GetBytes(i < 3_300 ? "gmail.com" : $"d{i % 67:00}.example.org"));
            var order = Enumerable.Range(0, rows.Group(Layouts(withRanges: false)))
                .Select(i => Encoding.ASCII.GetString(rows.Transaction(i).Partition.Span)).ToList();
            SliceBuffers.Return(rows);
            return order;
        }
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Slice_that_retries_failed_writes_is_complete_in_both_tables(bool afterwards)
    {
        // In each round, one write of a new slice fails once, at a later write than before. Accounts need a
        // transaction each, except the third of them that share a domain.
        const int Rows = 10;
        await using var rig = await PipelineRig.StartAsync(options =>
            (options.Ingest.BatchRows, options.Ingest.SliceRows, options.Upsert.TransactionsInFlight, options.Upsert.Ranges)
                = (Rows, Rows, 1, RangesMode.On));
        var draw = new CallDraw(oneOf: 2, output.WriteLine);
        var reached = true;
        for (var load = 1; reached; load++)
        {
            var at = draw.Next();
            await rig.DropAsync($"X{load}.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(load, Rows))));
            var writes = 0;
            var context = rig.OpenContext();
            await PipelineRig.RunToEndAsync(context.WithTable(Failing(context.Table), Failing(context.Ranges)));
            reached = writes >= at;
            if (reached)
            {
                // Its message is redelivered later, and finds the earlier writes recorded.
                await rig.Context.Queues.Get(QueueNames.Slices).ClearAsync(CancellationToken.None);
                await rig.Context.Queues.Get(QueueNames.Slices).SendAsync(
                    new SliceMessage { Load = load, Slice = 1 }.ToJson(), TimeSpan.Zero, CancellationToken.None);
                await rig.RunToEndAsync();
            }
            Assert.Equal(LoadState.Done, (await rig.LoadAsync(load)).State);
            var accounts = await rig.TableAsync();
            Assert.Equal(
                PipelineRig.Expected(load, Rows).Order(),
                accounts.Where(one => one.Value.Contains($"b{load}")).Select(one => one.Key).Order());
            Assert.Equal(await rig.ExpectedRangesAsync(), await rig.RangesAsync());

            // Before the write, or after it and before its response.
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
    }

    [Theory]
    [InlineData(RangesState.Off, RangesState.Filling)]
    [InlineData(RangesState.Filling, RangesState.On)]
    public async Task Slice_is_rewritten_when_the_layouts_change_while_it_runs(RangesState before, RangesState after)
    {
        await using var rig = await IngestedAsync(options =>
        {
            OneSlice(options);
            options.Upsert.Ranges = RangesMode.Off;
        });
        await rig.Context.Database.RaiseRangesAsync(1, before, CancellationToken.None);
        var completions = 0;
        var hooks = new HookedPorts(async (_, what) =>
        {
            if (what == nameof(ISlices.CompleteSliceAsync) && ++completions == 1)
                await rig.Context.Database.RaiseRangesAsync(1, after, CancellationToken.None);
        });
        await DispatchAsync(hooks.Wrap(rig.OpenContext()));

        Assert.Equal(2, completions);
        Assert.Equal((SliceState.Done, 1), await SliceAsync(rig));
        Assert.Equal(Accounts, Assert.Single(await rig.LoadsAsync()).Entities); // accounts only, not rows of both tables
        Assert.Equal(PipelineRig.Expected(0, Accounts).Order(), (await rig.TableAsync()).Keys.Order());
        var ranges = await rig.RangesAsync();
        Assert.Equal(await rig.ExpectedRangesAsync(), ranges);
        Assert.Equal(Accounts, ranges.Count);
    }

    [Fact]
    public async Task Progress_recorded_for_other_layouts_is_ignored()
    {
        await using var rig = await IngestedAsync(OneSlice);
        var transactions = 0;
        var counting = new HookedPorts((_, what) => Task.FromResult(what == nameof(IAccountTable.UpsertAsync) ? ++transactions : 0));
        var version = (await rig.Context.Database.GetLayoutsAsync(CancellationToken.None)).Version;
        await DispatchAsync(counting.Wrap(rig.OpenContext()));
        var all = transactions;
        Assert.InRange(all, 100, 18 + 256);
        foreach (var (layouts, left) in new[] { (version - 1, all), (version, 0) })
        {
            await rig.Context.Database.RequeueSlicesAsync(new(1), 1, failedOnly: false, CancellationToken.None);
            await rig.Context.Database.BeginSliceAsync(new(1), 1, "another", TimeSpan.FromMinutes(1), 5, CancellationToken.None);
            var done = new byte[(all + 7) / 8];
            Array.Fill(done, (byte)0xFF);
            var progress = new SliceProgress(SliceBuffers.OrderVersion, done) { LayoutVersion = layouts };
            await rig.Context.Database.RefundSliceAttemptAsync(new(1), 1, "another", progress, null, CancellationToken.None);
            transactions = 0;
            await SendAsync(rig);
            await DispatchAsync(counting.Wrap(rig.OpenContext()));
            Assert.Equal(left, transactions);
        }
    }

    [Fact]
    public async Task Store_with_ranges_off_writes_no_ranges()
    {
        await using var rig = await IngestedAsync(options =>
        {
            OneSlice(options);
            options.Upsert.Ranges = RangesMode.Off;
        });
        await DispatchAsync(rig.Context);
        Assert.Equal(Accounts, (await rig.TableAsync()).Count);
        Assert.Empty(await rig.RangesAsync());
        Assert.Equal(RangesState.Off, (await rig.Context.Register.GetReadLayoutAsync(CancellationToken.None))!.Ranges);
    }

    [Fact]
    public void Transactions_of_both_tables_are_spread_evenly_and_hold_each_account_once()
    {
        const int Rows = 10_000;
        var random = new Random(20251122);
        var rows = SliceBuffers.Rent(Rows);
        var expected = new HashSet<string>();
        for (var i = 0; i < Rows; i++)
        {
            var (alias, domain) = ($"user{random.Next(9_000)}", random.Next(3) == 0 ? "gmail.com" : $"d{random.Next(2_000)}.example.org");
            expected.Add($"{alias}@{domain}");
            rows.Accounts.Add(Encoding.ASCII.GetBytes(alias), Encoding.ASCII.GetBytes(domain));
        }
        var transactions = Enumerable.Range(0, rows.Group(Layouts(withRanges: true))).Select(rows.Transaction).ToList();
        Assert.Equal(expected.Count, rows.Entities);
        Assert.All(transactions, transaction => Assert.InRange(transaction.Rows.Length, 1, IAccountTable.MaxTransactionEntities));
        Assert.Equal(expected.Order(), Keys(ofRanges: false).Select(key => $"{key.Row}@{key.Partition}").Order());
        Assert.Equal(
            expected.Select(account => Convert.ToHexString(SHA1.HashData(Encoding.ASCII.GetBytes(account)))).Order(),
            Keys(ofRanges: true).Select(key => key.Partition + key.Row).Order());

        // Wherever it is cut, each table has its share, within a few transactions.
        var ranges = transactions.Count(transaction => transaction.OfRanges);
        Assert.Equal(256, ranges);
        var soFar = 0;
        for (var i = 0; i < transactions.Count; i++)
        {
            soFar += transactions[i].OfRanges ? 1 : 0;
            Assert.InRange(soFar, ((i + 1.0) * ranges / transactions.Count) - 4, ((i + 1.0) * ranges / transactions.Count) + 4);
        }

        // The order is the same at each read; earlier content of the buffers leaves no trace.
        var order = Order();
        _ = rows.Group(Layouts(withRanges: false));
        _ = rows.Group(Layouts(withRanges: true));
        Assert.Equal(order, Order());
        SliceBuffers.Return(rows);

        IEnumerable<(string Partition, string Row)> Keys(bool ofRanges) =>
            from transaction in transactions
            where transaction.OfRanges == ofRanges
            from row in transaction.Rows.ToArray()
            select (Encoding.ASCII.GetString(transaction.Partition.Span), Encoding.ASCII.GetString(transaction.Bytes.Span[row]));

        string Order() => string.Join(' ', Enumerable.Range(0, transactions.Count).Select(rows.Transaction)
            .Select(one => $"{Encoding.ASCII.GetString(one.Partition.Span)}:{Encoding.ASCII.GetString(one.Bytes.Span[one.Rows.Span[0]])}"));
    }

    private static SliceLayout[] Layouts(bool withRanges) => [new SliceLayout(new LayoutPlacement(new LayoutFacts()), withRanges)];

    /// <summary>Ingests a load of one slice, whose message is in the queue.</summary>
    private static async Task<PipelineRig> IngestedAsync(Action<TestOptions> configure)
    {
        var rig = await PipelineRig.StartAsync(configure);
        await rig.DropAsync("X.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, Accounts))));
        await rig.Context.Get<BlobScan>().RunAsync(TimeSpan.Zero, CancellationToken.None);
        var queue = rig.Context.Queues.Get(QueueNames.Ingest);
        var message = Assert.Single(await queue.ReceiveAsync(1, TimeSpan.FromMinutes(10), CancellationToken.None));
        await rig.Context.Get<MessageDispatcher>().DispatchAsync(QueueNames.Ingest, message.Body, CancellationToken.None);
        await queue.DeleteAsync(message, CancellationToken.None);
        return rig;
    }

    private static Task SendAsync(PipelineRig rig) =>
        rig.Context.Queues.Get(QueueNames.Slices).SendAsync(
            new SliceMessage { Load = 1, Slice = 1 }.ToJson(), TimeSpan.Zero, CancellationToken.None);

    /// <summary>Processes the only visible slice message, and acknowledges it if the stage returns.</summary>
    private static async Task DispatchAsync(PipelineParts context, CancellationToken cancellationToken = default)
    {
        var queue = context.Queues.Get(QueueNames.Slices);
        var message = Assert.Single(await queue.ReceiveAsync(1, TimeSpan.FromMinutes(10), CancellationToken.None));
        await context.Get<MessageDispatcher>().DispatchAsync(QueueNames.Slices, message.Body, cancellationToken);
        await queue.DeleteAsync(message, CancellationToken.None);
    }

    private static async Task<(SliceState State, int Attempts)> SliceAsync(PipelineRig rig) =>
        Assert.Single(await rig.SlicesAsync(1)) is var slice ? (slice.State, slice.Attempts) : default;

    /// <summary>Records writes, and fails before a transaction if the test says so.</summary>
    private sealed class RecordingTable(IAccountTable table) : UpsertedTable
    {
        private int _number;

        public ConcurrentQueue<string> Written { get; } = [];

        /// <summary>Receives the transaction's number.</summary>
        public Func<int, Exception?> Before { get; set; } = _ => null;

        public override async Task UpsertAsync(
            ReadOnlyMemory<byte> domain, ReadOnlyMemory<Range> aliases, ReadOnlyMemory<byte> bytes, int mark,
            TransactionsInFlight inFlight, CancellationToken cancellationToken)
        {
            if (Before(Interlocked.Increment(ref _number)) is { } fault)
                throw fault;
            await table.UpsertAsync(domain, aliases, bytes, mark, inFlight, cancellationToken);
            foreach (var alias in aliases.ToArray())
                Written.Enqueue($"{Encoding.ASCII.GetString(bytes.Span[alias])}@{Encoding.ASCII.GetString(domain.Span)}");
        }
    }

    /// <summary>Always throttles.</summary>
    private sealed class WaitingTable : UpsertedTable
    {
        public TaskCompletionSource Entered { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public override async Task UpsertAsync(
            ReadOnlyMemory<byte> domain, ReadOnlyMemory<Range> aliases, ReadOnlyMemory<byte> bytes, int mark,
            TransactionsInFlight inFlight, CancellationToken cancellationToken)
        {
            Entered.TrySetResult();
            await Task.Delay(Timeout.InfiniteTimeSpan, inFlight.StopWaiting).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            throw new StoreThrottledException("waited");
        }
    }

    private abstract class UpsertedTable : IAccountTable
    {
        public Task CreateAsync(CancellationToken cancellationToken) => Task.CompletedTask;

        public Task DropAsync(CancellationToken cancellationToken) => Task.CompletedTask;

        public abstract Task UpsertAsync(
            ReadOnlyMemory<byte> domain, ReadOnlyMemory<Range> aliases, ReadOnlyMemory<byte> bytes, int mark,
            TransactionsInFlight inFlight, CancellationToken cancellationToken);

        public Task MergeAsync(ReadOnlyMemory<byte> partition, MarkedRows rows, CancellationToken cancellationToken) =>
            throw new NotSupportedException();

        public Task PutOptOutAsync(string partition, string key, OptOutLevel level, CancellationToken cancellationToken) =>
            throw new NotSupportedException();

        public IAsyncEnumerable<string> ListAliasesAsync(
            string domain, IReadOnlyCollection<int> marks, CancellationToken cancellationToken) => throw new NotSupportedException();

        public Task<int> RemoveMarkAsync(
            string domain, IReadOnlyCollection<string> aliases, int mark, CancellationToken cancellationToken) =>
                throw new NotSupportedException();

        public Task<AccountPage> ReadPageAsync(int part, string? token, CancellationToken cancellationToken) =>
            throw new NotSupportedException();

        public Task<MarkPage> RemoveMarkAsync(int mark, int part, string? token, CancellationToken cancellationToken) =>
            throw new NotSupportedException();
    }
}
