using HibpIngest.Pipeline.Messaging;
using Microsoft.Extensions.Hosting;

namespace HibpIngest.Hosting;

/// <summary>Sends a host's heartbeats until all of its other services have stopped.</summary>
internal sealed class HeartbeatService(HeartbeatSender signs) : IHostedLifecycleService, IAsyncDisposable
{
    public Task StartingAsync(CancellationToken cancellationToken)
    {
        signs.Start();
        return Task.CompletedTask;
    }

    public Task StartAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StartedAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StoppingAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StopAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StoppedAsync(CancellationToken cancellationToken) => signs.DisposeAsync().AsTask();

    // A host whose start failed is disposed without having been stopped.
    public ValueTask DisposeAsync() => signs.DisposeAsync();
}

public static class HeartbeatServices
{
    /// <summary>Adds the heartbeats, and the list of work waiting for a store that they report.</summary>
    /// <param name="roles">The host's roles, separated by ", ".</param>
    /// <param name="onBeat">Called after each heartbeat, with null or its error.</param>
    public static IServiceCollection AddHeartbeats(
        this IServiceCollection services, string roles, Action<IServiceProvider, HibpException?>? onBeat = null) =>
        services.AddSingleton<BlockedWork>().AddHostedService(provider =>
        {
            var troubles = provider.GetRequiredService<BlockedWork>();
            provider.GetRequiredService<Deferrals>().Subscribe(troubles.Note);
            return new HeartbeatService(new HeartbeatSender(
                provider.GetRequiredService<IHeartbeats>(), roles, troubles, provider.GetRequiredService<TimeProvider>(),
                error => onBeat?.Invoke(provider, error)));
        });
}
