using HibpIngest.Hosting.Messages;
using HibpIngest.Passwords.Import.Drops;
using HibpIngest.Pipeline.Ingest;
using HibpIngest.Storage.Azure;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Options;

namespace HibpIngest.Cli.LocalHost;

internal static class LocalHostServices
{
    private const string HeartbeatName = "heartbeat";

    public static IServiceCollection AddHibpLocalHost(this IServiceCollection services, LocalHostOptions options)
    {
        var roles = options.Roles;
        if (roles == HostRoles.None)
            throw new ArgumentException("a host needs a role", nameof(options));
        services.Configure<HostOptions>(host => (host.ShutdownTimeout, host.ServicesStopConcurrently) = (Timeout.InfiniteTimeSpan, true))
            .AddSingleton(options).AddSingleton<LocalHostRunner>()
            .AddSingleton<IHostLifetime>(provider => provider.GetRequiredService<LocalHostRunner>())
            .AddHeartbeats(Describe(roles), (provider, error) =>
            {
                var health = provider.GetRequiredService<LocalHostRunner>().Health;
                if (error is UnavailableException unavailable)
                    health.Down(HeartbeatName, unavailable, Heartbeat.Interval);
                else if (error is null)
                    health.Up(HeartbeatName);
            });
        if (roles.HasFlag(HostRoles.Ingest))
        {
            AddLoop((host, provider) =>
            {
                // One instance for all runs: it remembers which blobs have been started.
                var scan = provider.GetRequiredService<BlobScan>();
                return host.RepeatAsync("blob scan", ScanPause(provider), token => scan.RunAsync(TimeSpan.Zero, token));
            });
        }
        if (roles.HasFlag(HostRoles.Passwords))
        {
            AddLoop((host, provider) =>
            {
                var (stores, scan) = (provider.GetRequiredService<ServingStores>(), provider.GetRequiredService<SweepImports>());
                return host.RepeatAsync(
                    "passwords scan", ScanPause(provider), token => stores.RunAsync(on => scan.ScanAsync(TimeSpan.Zero, on), token));
            });
        }
        if (roles.HasFlag(HostRoles.Sweep))
        {
            AddLoop((host, provider) => Task.WhenAll(provider.GetServices<HostSweep>().Select(
                sweep => host.RepeatAsync(sweep.Name, options.SweepEvery, sweep.RunAsync))));
        }
        foreach (var route in MessageRoutes.All.Where(route => roles.HasFlag(route.Role)))
        {
            // One load, or one segment of the journal, keeps a process busy.
            var queues = route.Role is HostRoles.Ingest or HostRoles.Journal
                ? options.Queues with { BatchSize = 1, NewBatchThreshold = 0 } : options.Queues;
            AddLoop((host, provider) => host.RunLoopAsync(stop => new QueueListener(
                provider.GetRequiredService<IMessageQueues>(), route.Queue,
                (body, token) => host.WorkAsync(
                    route.Queue, () => provider.GetRequiredService<MessageDispatcher>().DispatchAsync(route.Queue, body, token)),
                queues with { MaxDequeueCount = provider.GetRequiredService<IOptions<RetryOptions>>().Value.MaxTries },
                provider.GetRequiredService<TimeProvider>(), provider.GetRequiredService<ILogger<QueueListener>>(), host.Health)
            {
                OnFailure = e => options.OnFailure?.Invoke(route.Queue, e),
            }.RunAsync(stop)));
        }
        return services;

        void AddLoop(Func<LocalHostRunner, IServiceProvider, Task> run) => services.AddSingleton<IHostedService>(
            provider => new LoopService(() => run(provider.GetRequiredService<LocalHostRunner>(), provider)));

        TimeSpan ScanPause(IServiceProvider provider) =>
            options.ScanEvery ?? TimeSpan.FromSeconds(provider.GetRequiredService<StorageAccount>().IsEmulator ? 0.5 : 2);
    }

    private static string Describe(HostRoles roles) => roles.HasFlag(HostRoles.All) ? Heartbeat.Everything : string.Join(
        ", ", Enum.GetValues<HostRoles>().Where(role => role != HostRoles.None && int.IsPow2((int)role) && roles.HasFlag(role))
            .Select(role => role.ToString().ToLowerInvariant()));

    // The loop stops with the host's ApplicationStopping, which is cancelled before any service is stopped.
    private sealed class LoopService(Func<Task> run) : BackgroundService
    {
        protected override Task ExecuteAsync(CancellationToken stoppingToken) => run();
    }
}
