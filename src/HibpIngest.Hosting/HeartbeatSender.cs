using HibpIngest.Pipeline.Messaging;

namespace HibpIngest.Hosting;

/// <summary>
/// Sends this process's heartbeats, on a dedicated thread: in a busy process the thread pool may have no free thread for seconds, and
/// readers that miss its heartbeats for <see cref="Heartbeat.MissedAfter"/> consider it dead.
/// </summary>
/// <param name="signs">The store of heartbeats, over a connection that the process's other work can't saturate.</param>
/// <param name="roles">The host's roles, separated by ", ".</param>
/// <param name="time">Clock for the recorded times.</param>
/// <param name="onBeat">Called after each heartbeat: null, or its error.</param>
public sealed class HeartbeatSender(
    IHeartbeats signs, string roles, BlockedWork troubles, TimeProvider time, Action<HibpException?>? onBeat = null) : IAsyncDisposable
{
    private static readonly TimeSpan FarewellTimeout = TimeSpan.FromSeconds(5);

    private readonly DateTimeOffset _startedAt = time.GetUtcNow();
    private readonly CancellationTokenSource _stop = new();
    private readonly TaskCompletionSource _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private bool _hasStarted;
    private bool _mayBeThere;
    private bool _hasGiven;

    /// <summary>
    /// Sends heartbeats until disposal. The first one also removes hosts whose last heartbeat is older than
    /// <see cref="Heartbeat.ForgottenAfter"/>.
    /// </summary>
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
        if (!_mayBeThere)
            return;
        using var timeout = new CancellationTokenSource(FarewellTimeout, time);
        try
        {
            await signs.RemoveHeartbeatAsync(LoadLeases.Host, timeout.Token);
        }
        catch (Exception e) when (e is HibpException or OperationCanceledException)
        {
            // The host stays listed as missing heartbeats for a day.
        }
    }

    private void Run()
    {
        try
        {
            do
            {
                try
                {
                    Beat();
                    onBeat?.Invoke(null);
                }
                catch (HibpException e)
                {
                    // Any listing of the hosts shows that the heartbeat is missing.
                    onBeat?.Invoke(e);
                }
            }
            while (!_stop.Token.WaitHandle.WaitOne(Heartbeat.Every));
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

    private void Beat()
    {
        var now = time.GetUtcNow();
        // A write that is interrupted by the stop may still have been stored.
        _mayBeThere = true;
        signs.PutHeartbeat(
            new Heartbeat(
                LoadLeases.Host, Environment.MachineName, Environment.ProcessId, roles, ProgramVersion.Short, _startedAt, now,
                troubles.List()),
            _stop.Token);
        if (_hasGiven)
            return;
        _hasGiven = true;
        RemoveForgottenAsync(now).GetAwaiter().GetResult();
    }

    private async Task RemoveForgottenAsync(DateTimeOffset now)
    {
        foreach (var sign in await signs.ListHeartbeatsAsync(_stop.Token))
        {
            if (now - sign.SeenAt > Heartbeat.ForgottenAfter)
                await signs.RemoveHeartbeatAsync(sign.Host, _stop.Token);
        }
    }
}
