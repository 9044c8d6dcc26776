using HibpIngest.Pipeline.Messaging;
using Microsoft.Extensions.Hosting;

namespace HibpIngest.Hosting;

/// <summary>Sends heartbeats on a dedicated thread: in a busy process, the thread pool may have no free thread for seconds.</summary>
/// <param name="store">Uses a connection that the process's other work can't saturate.</param>
/// <param name="roles">Separated by ", ".</param>
/// <param name="onBeat">Called after each heartbeat, unless memory was exhausted: null, or its error.</param>
public sealed class HeartbeatSender(
    IHeartbeats store, string roles, BlockedWork blocked, TimeProvider time, Action<HibpException?>? onBeat = null) : IAsyncDisposable
{
    private static readonly TimeSpan RemoveTimeout = TimeSpan.FromSeconds(5);

    private readonly DateTimeOffset _startedAt = time.GetUtcNow();
    private readonly CancellationTokenSource _stop = new();
    private readonly TaskCompletionSource _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private bool _hasStarted;
    private bool _mayBeStored;
    private bool _hasSent;

    /// <summary>The first heartbeat also removes hosts that are older than <see cref="Heartbeat.DeletedAfter"/>.</summary>
    public void Start()
    {
        _hasStarted = true;
        new Thread(Run) { IsBackground = true, Name = "heartbeat" }.Start();
    }

    /// <summary>Removes this host from the store after a regular stop, so that it isn't listed as missing heartbeats.</summary>
    public async ValueTask DisposeAsync()
    {
        if (_stop.IsCancellationRequested)
            return;
        await _stop.CancelAsync();
        if (_hasStarted)
            await _ended.Task;
        _stop.Dispose();
        if (!_mayBeStored)
            return;
        using var timeout = new CancellationTokenSource(RemoveTimeout, time);
        try
        {
            await store.RemoveHeartbeatAsync(LoadLeases.Host, timeout.Token);
        }
        catch (Exception e) when (e is HibpException or OperationCanceledException or OutOfMemoryException)
        {
            // The host stays listed as missing heartbeats for a day.
        }
    }

    private void Run()
    {
        try
        {
            var stopping = _stop.Token.WaitHandle;
            do
            {
                try
                {
                    var error = TryBeat();
                    onBeat?.Invoke(error);
                }
                catch (OutOfMemoryException)
                {
                    // Memory may be free again at the next heartbeat. Ending here would list a live host as missing its heartbeats.
                }
            }
            while (!stopping.WaitOne(Heartbeat.Interval));
            _ended.SetResult();
        }
        catch (OperationCanceledException) when (_stop.IsCancellationRequested)
        {
            _ended.SetResult();
        }
        catch (Exception e)
        {
            // A bug: DisposeAsync rethrows it when the host stops; it must not end the process from here.
            _ended.SetException(e);
        }
    }

    private HibpException? TryBeat()
    {
        try
        {
            Beat();
            return null;
        }
        catch (HibpException e)
        {
            return e;
        }
    }

    private void Beat()
    {
        var now = time.GetUtcNow();
        // A write that is interrupted by the stop may still have been stored.
        _mayBeStored = true;
        store.PutHeartbeat(
            new Heartbeat(
                LoadLeases.Host, Environment.MachineName, Environment.ProcessId, roles, ProgramVersion.Short, _startedAt, now,
                blocked.List()),
            _stop.Token);
        if (_hasSent)
            return;
        _hasSent = true;
        RemoveForgottenAsync(now).GetAwaiter().GetResult();
    }

    private async Task RemoveForgottenAsync(DateTimeOffset now)
    {
        foreach (var heartbeat in await store.ListHeartbeatsAsync(_stop.Token))
        {
            if (now - heartbeat.SeenAt > Heartbeat.DeletedAfter)
                await store.RemoveHeartbeatAsync(heartbeat.Host, _stop.Token);
        }
    }
}

/// <summary>Sends a host's heartbeats until all of its other services have stopped.</summary>
internal sealed class HeartbeatService(HeartbeatSender heartbeats) : IHostedLifecycleService, IAsyncDisposable
{
    public Task StartingAsync(CancellationToken cancellationToken)
    {
        heartbeats.Start();
        return Task.CompletedTask;
    }

    public Task StartAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StartedAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StoppingAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StopAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StoppedAsync(CancellationToken cancellationToken) => heartbeats.DisposeAsync().AsTask();

    // A host whose start failed is disposed without having been stopped.
    public ValueTask DisposeAsync() => heartbeats.DisposeAsync();
}

public static class HeartbeatServices
{
    /// <summary>Adds the heartbeats, and the list of blocked work that they report. Parameters: see the sender.</summary>
    public static IServiceCollection AddHeartbeats(
        this IServiceCollection services, string roles, Action<IServiceProvider, HibpException?>? onBeat = null) =>
        services.AddSingleton<BlockedWork>().AddHostedService(provider =>
        {
            var blocked = provider.GetRequiredService<BlockedWork>();
            provider.GetRequiredService<Deferrals>().Subscribe(blocked.Note);
            return new HeartbeatService(new HeartbeatSender(
                provider.GetRequiredService<IHeartbeats>(), roles, blocked, provider.GetRequiredService<TimeProvider>(),
                error => onBeat?.Invoke(provider, error)));
        });
}
