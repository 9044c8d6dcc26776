using System.Collections.Concurrent;
using HibpIngest.Errors;
using HibpIngest.Passwords;
using HibpIngest.Pipeline;
using HibpIngest.Stores;
using HibpIngest.Telemetry;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Hosting.Local;

/// <summary>
/// Stands in for the Functions host on a laptop, a VM or a container, and keeps its rules (see
/// <see cref="QueueListenerOptions"/>). Any number may run against the same stores.
/// </summary>
public static partial class LocalHost
{
    /// <summary>
    /// Makes sure of the stores, then works until cancelled, and returns when everything in hand has come to a
    /// stop: stages stop at a batch boundary, and messages that were not finished are visible again at once. A
    /// store that is down is waited for.
    /// </summary>
    /// <exception cref="StoreMismatchException">Database and table don't belong together, or the database's
    /// file is no longer the one that was opened.</exception>
    /// <exception cref="StoreRefusedException">A store refuses this program: the set-up must be mended.</exception>
    public static async Task RunAsync(IServiceProvider services, LocalHostOptions options, CancellationToken cancellationToken)
    {
        await services.GetRequiredService<StoreSetup>().EnsureOnceAsync(cancellationToken);

        var (time, rules, logs) = (
            services.GetRequiredService<TimeProvider>(), services.GetRequiredService<PipelineOptions>(),
            services.GetRequiredService<ILoggerFactory>());
        var log = logs.CreateLogger("HibpIngest.LocalHost");
        // One loop that ends with an error ends the others: a host that does half of its work would look alive.
        using var stop = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        // Messages that are being worked on, by queue.
        var working = new ConcurrentDictionary<string, int>();
        using var stopping = cancellationToken.Register(
            () => options.OnStopping?.Invoke(working.Where(one => one.Value > 0).ToDictionary()));
        StoreMismatchException? mismatch = null;
        var loops = new List<Task>();
        var troubles = new HostTroubles(time);
        var health = new StoreHealth(log, (what, reason, pause) => troubles.Note(0, what, reason, pause));
        services.GetRequiredService<Deferrals>().Subscribe(troubles.Note);
        var queues = services.GetRequiredService<IMessageQueues>();
        var dispatcher = services.GetRequiredService<MessageDispatcher>();
        if (options.Roles.HasFlag(HostRoles.Ingest))
        {
            var scan = services.GetRequiredService<BlobScan>();
            loops.Add(RepeatAsync("blob scan", options.BlobScanEvery, token => scan.RunAsync(TimeSpan.Zero, token)));
        }
        if (options.Roles.HasFlag(HostRoles.Passwords))
        {
            var (stores, scan) = (services.GetRequiredService<ServingStores>(), services.GetRequiredService<SweepImports>());
            loops.Add(RepeatAsync(
                "passwords scan", options.BlobScanEvery, token => stores.RunAsync(on => scan.ScanAsync(TimeSpan.Zero, on), token)));
        }
        if (options.Roles.HasFlag(HostRoles.Sweep))
        {
            loops.AddRange(services.GetServices<HostSweep>().Select(
                sweep => RepeatAsync(sweep.Name, options.SweepEvery, sweep.RunAsync)));
        }
        foreach (var route in MessageRoutes.All.Where(route => options.Roles.HasFlag(route.Role)))
        {
            // A load and a log segment each keep a process busy.
            loops.Add(ListenAsync(route.Queue, route.Role is HostRoles.Ingest or HostRoles.Log
                ? options.Queues with { BatchSize = 1, NewBatchThreshold = 0 } : options.Queues));
        }
        if (loops.Count == 0)
            throw new ArgumentException("a host needs a role", nameof(options));
        const string Heartbeat = "heartbeat";
        var heartbeats = services.GetRequiredService<IHostSigns>();
        await using (var signs = new HostSigns(heartbeats, Describe(options.Roles), troubles, time, failure =>
        {
            if (failure is StoreUnavailableException down)
                health.Down(Heartbeat, down, HostSign.Every);
            else if (failure is null)
                health.Up(Heartbeat);
        }))
        {
            signs.Start();
            LogStarted(log, options.Roles);
            await Task.WhenAll(loops);
        }
        LogStopped(log);
        if (mismatch is not null)
            throw mismatch;

        Task ListenAsync(string queue, QueueListenerOptions listening) => UntilStopAsync(async () => await new QueueListener(
            queues, queue, (body, token) => DispatchAsync(queue, body, token),
            listening with { MaxDequeueCount = rules.MaxTries }, time, logs.CreateLogger<QueueListener>(), health,
            options.OnFailure is { } tell ? e => tell(queue, e) : null).RunAsync(stop.Token));

        async Task DispatchAsync(string queue, string body, CancellationToken token)
        {
            working.AddOrUpdate(queue, 1, (_, count) => count + 1);
            try
            {
                await dispatcher.DispatchAsync(queue, body, token);
            }
            catch (StoreMismatchException e)
            {
                // No message would fare better. Stopped before the listener looks at what became of this one,
                // so that it is given back, at no cost.
                mismatch = e;
                await stop.CancelAsync();
                throw;
            }
            finally
            {
                working.AddOrUpdate(queue, 0, (_, count) => count - 1);
            }
        }

        Task RepeatAsync(string what, TimeSpan every, Func<CancellationToken, Task> work) => UntilStopAsync(async () =>
        {
            while (true)
            {
                try
                {
                    await work(stop.Token);
                    health.Up(what);
                }
                catch (StoreUnavailableException e)
                {
                    health.Down(what, e, every);
                }
                catch (Exception e) when (e is not (OperationCanceledException or StoreRefusedException or StoreMismatchException))
                {
                    // As under the Functions host: one run that failed is no reason against the next.
                    LogRunFailed(log, what, e is HibpException ? e.Message : UnexpectedError.Describe(e));
                    options.OnFailure?.Invoke(what, e);
                }
                await Task.Delay(every, time, stop.Token);
            }
        });

        async Task UntilStopAsync(Func<Task> loop)
        {
            // Off the caller's thread at once: a loop's first call may block.
            await Task.Yield();
            try
            {
                await loop();
            }
            catch (OperationCanceledException) when (stop.IsCancellationRequested)
            {
            }
            finally
            {
                await stop.CancelAsync();
            }
        }
    }

    private static string Describe(HostRoles roles) => roles.HasFlag(HostRoles.All) ? HostSign.Everything : string.Join(
        ", ", Enum.GetValues<HostRoles>().Where(role => role != HostRoles.None && int.IsPow2((int)role) && roles.HasFlag(role))
            .Select(role => role.ToString().ToLowerInvariant()));

    [LoggerMessage(EventIds.LocalHostStarted, LogLevel.Information, "the local host works as: {Roles}")]
    private static partial void LogStarted(ILogger log, HostRoles roles);

    [LoggerMessage(EventIds.LocalHostRunFailed, LogLevel.Error, "{What} failed: {Reason}")]
    private static partial void LogRunFailed(ILogger log, string what, string reason);

    [LoggerMessage(EventIds.LocalHostStopped, LogLevel.Information, "the local host has stopped")]
    private static partial void LogStopped(ILogger log);
}
