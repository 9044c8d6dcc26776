using HibpIngest.Cli.LocalHost;
using HibpIngest.Hosting.Messages;
using HibpIngest.Integration.Tests.EndToEnd;
using HibpIngest.Pipeline.Sweeping;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Integration.Tests.Cli;

/// <summary>Tests the local host as a whole: its roles, several hosts at once, and its messages when a store is full.</summary>
public sealed class LocalHostTests
{
    private static async Task RunHostAsync(PipelineParts parts, LocalHostOptions options, CancellationToken cancellationToken)
    {
        using var host = new HostBuilder().ConfigureServices(services => parts.AddTo(services).AddHibpLocalHost(options)).Build();
        await LocalHostRunner.RunAsync(host, cancellationToken);
    }

    private static readonly TimeSpan TestTimeout = TimeSpan.FromMinutes(1);

    // Scan and poll intervals are shorter than in production.
    private static readonly LocalHostOptions Quick = new()
    {
        Roles = HostRoles.All & ~(HostRoles.Passwords | HostRoles.Access),
        ScanEvery = TimeSpan.FromMilliseconds(100),
        Queues = new() { RetryDelay = TimeSpan.Zero, MinPause = TimeSpan.FromMilliseconds(10), MaxPause = TimeSpan.FromMilliseconds(50) },
    };

    [Fact]
    public async Task Role_does_only_its_own_stage()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.ImportAsync(("user7@example2.com", null));
        await rig.DropAsync("Shared.zip", Zip(0, 500));

        await RunUntilAsync(rig, HostRoles.Ingest, load => load is { State: LoadState.Upserting, Slices.Queued: 10 });
        Assert.Empty(await rig.TableAsync());
        await RunUntilAsync(rig, HostRoles.Upsert, load => load is { State: LoadState.Matching, Slices.Done: 10 });
        Assert.Equal(500, (await rig.TableAsync()).Count);
        Assert.Empty(rig.Mails());
        await RunUntilAsync(rig, HostRoles.Notify, load => load.State == LoadState.Done);
        Assert.Equal(["user7@example2.com"], rig.Recipients());
        Assert.All(await rig.DepthsAsync(), depth => Assert.Equal(0, depth.Value));
    }

    [Fact]
    public async Task Two_concurrent_hosts_give_the_result_of_one()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.ImportAsync(("user7@example2.com", null), ("admin@example.org", "example3.com"));
        await rig.DropAsync("First.zip", Zip(0, 500));
        await rig.DropAsync("Second.zip", Zip(400, 900));

        using var stop = new CancellationTokenSource();
        var hosts = new[] { rig.OpenContext(), rig.OpenContext() }.Select(context => RunHostAsync(context, Quick, stop.Token))
            .ToList();
        var areDone = Functions.Eventually.IsSoAsync(
            async () => await rig.LoadsAsync() is [{ State: LoadState.Done }, { State: LoadState.Done }]);
        var first = await Task.WhenAny([areDone, .. hosts]);
        await stop.CancelAsync();
        await Task.WhenAll(hosts).WaitAsync(TestTimeout);
        Assert.True(first == areDone, "a host has ended");
        await areDone;

        var ids = (await rig.Context.Database.ListBreachesAsync(None)).ToDictionary(
            breach => breach.Name, breach => $"b{Assert.Single(breach.Marks)}");
        var both = string.Join(' ', new[] { ids["First"], ids["Second"] }.Order());
        var expected = Enumerable.Range(0, 900).ToDictionary(
            i => $"user{i}@example{i % 5}.com", i => i < 400 ? ids["First"] : i < 500 ? both : ids["Second"]);
        Assert.Equal(
            expected.OrderBy(one => one.Key), (await rig.TableAsync())
            .ToDictionary(one => one.Key, one => string.Join(' ', one.Value.Order())).OrderBy(one => one.Key));
        Assert.Equal(["admin@example.org", "admin@example.org", "user7@example2.com"], rig.Recipients());
        Assert.All(await rig.DepthsAsync(), depth => Assert.Equal(0, depth.Value));
    }

    [Fact]
    public async Task Blob_scans_read_the_receipt_of_a_blob_once()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.DropAsync("Known.zip", Zip(0, 100));
        await rig.RunToEndAsync();
        var (scans, receipts) = (0, 0);
        var enough = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await RunUntilAsync(
            rig.Context with
            {
                Blobs = PortProxy<IBreachBlobs>.Create(rig.Context.Blobs, _ => Task.CompletedTask, wrap: listing =>
                {
                    if (++scans == 4)
                        enough.SetResult();
                    return listing;
                }),
                Register = PortProxy<IStoreRegister>.Create(rig.Context.Register, method =>
                {
                    receipts += method == nameof(IStoreRegister.HasReceiptAsync) ? 1 : 0;
                    return Task.CompletedTask;
                }),
            },
            Quick with { Roles = HostRoles.Ingest }, enough.Task);
        Assert.Equal(1, receipts);
    }

    [Fact]
    public async Task Stopping_host_reports_its_messages_in_progress_at_once()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.DropAsync("Held.zip", Zip(0, 200));
        // Reading this blob blocks until the test releases it.
        var (begun, go) = (new TaskCompletionSource(), new TaskCompletionSource());
        using var stop = new CancellationTokenSource();
        var reported = new List<IReadOnlyDictionary<string, int>>();
        var host = RunHostAsync(
            rig.Context.WithBlobs(async () =>
            {
                begun.TrySetResult();
                await go.Task;
            }),
            Quick with { Roles = HostRoles.Ingest, OnStopping = reported.Add }, stop.Token);
        await begun.Task.WaitAsync(TestTimeout);
        await stop.CancelAsync();
        Assert.Equal([new(QueueNames.Ingest, 1)], Assert.Single(reported));
        Assert.False(host.IsCompleted);
        go.SetResult();
        await host.WaitAsync(TestTimeout);
    }

    [Fact]
    public async Task Full_disk_is_reported_and_loses_no_work()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.DropAsync("Large.zip", Zip(0, 20_000));
        var deferred = new TaskCompletionSource<UnavailableException>(TaskCreationOptions.RunContinuationsAsynchronously);
        // Room for the schema and some rows.
        await using var database = SqliteBreachDatabase.Open(rig.DatabaseFile, rig.Time, maxPages: 100);
        await RunUntilAsync(
            rig.Context with { Database = database, OnDeferred = message => deferred.TrySetResult(message.Error) }, Quick, deferred.Task);
        Assert.IsType<StoreFullException>(await deferred.Task);
        // Message and load wait for space.
        Assert.Equal(1, (await rig.DepthsAsync())[QueueNames.Ingest]);
        Assert.Equal(LoadState.Ingesting, Assert.Single(await rig.LoadsAsync()).State);
    }

    [Fact]
    public async Task Idle_host_ends_when_its_database_file_is_moved()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        var host = await StartAsync(rig, Quick with { Roles = HostRoles.Sweep, SweepEvery = TimeSpan.FromMilliseconds(100) });
        File.Move(rig.DatabaseFile, rig.DatabaseFile + ".moved");
        await Assert.ThrowsAsync<StoreMismatchException>(() => host.WaitAsync(TestTimeout));
    }

    [Fact]
    public async Task Host_ends_and_keeps_the_message_when_its_database_file_is_moved()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        var failures = new List<string>();
        var host = await StartAsync(
            rig, Quick with { Roles = HostRoles.Ingest, OnFailure = (what, e) => failures.Add($"{what}: {e.Message}") });
        File.Move(rig.DatabaseFile, rig.DatabaseFile + ".moved");
        await rig.DropAsync("Late.zip", Zip(0, 100));
        var mismatch = await Assert.ThrowsAsync<StoreMismatchException>(() => host.WaitAsync(TestTimeout));
        Assert.Contains(rig.DatabaseFile, mismatch.Message, StringComparison.Ordinal);
        Assert.Empty(failures);
        // A host that starts on the right file receives it at once.
        var waiting = Assert.Single(await rig.Context.Queues.Get(QueueNames.Ingest).ReceiveAsync(32, TimeSpan.FromMinutes(1), None));
        Assert.Contains("Late.zip", waiting.Body, StringComparison.Ordinal);
    }

    private static void Small(TestOptions options) => (options.Ingest.BatchRows, options.Ingest.SliceRows) = (100, 50);

    private static byte[] Zip(int from, int to) =>
        PipelineRig.Zip(
            ("dump.csv", string.Join('\n', Enumerable.Range(from, to - from).Select(i => $"user{i}@example{i % 5}.com,secret"))));

    /// <summary>Starts a host, and waits until it has checked its stores and started working.</summary>
    private static async Task<Task> StartAsync(PipelineRig rig, LocalHostOptions options)
    {
        var started = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var log = new CollectingLogger
        {
            OnEvent = id =>
            {
                if (id == EventIds.LocalHostStarted)
                    started.TrySetResult();
            },
        };
        var host = RunHostAsync(rig.Context with { Logs = LoggerFactory.Create(logging => logging.AddProvider(log)) }, options, None);
        await Task.WhenAny(started.Task, host).WaitAsync(TestTimeout);
        return host;
    }

    /// <summary>Runs a host until the task has ended; fails with the host's error if that ends first.</summary>
    private static async Task RunUntilAsync(PipelineParts parts, LocalHostOptions options, Task until)
    {
        using var stop = new CancellationTokenSource();
        var host = RunHostAsync(parts, options, stop.Token);
        await Task.WhenAny(until, host).WaitAsync(TestTimeout);
        await stop.CancelAsync();
        await host.WaitAsync(TestTimeout);
        await until.WaitAsync(TestTimeout);
    }

    private static Task RunUntilAsync(PipelineRig rig, HostRoles roles, Func<Load, bool> reached) => RunUntilAsync(
        rig.OpenContext(), Quick with { Roles = roles },
        Functions.Eventually.IsSoAsync(async () => await rig.LoadsAsync() is [var load] && reached(load)));
}
