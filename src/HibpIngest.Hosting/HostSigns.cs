using HibpIngest.Errors;
using HibpIngest.Pipeline;
using HibpIngest.Stores;

namespace HibpIngest.Hosting;

/// <summary>
/// Sends this process's heartbeats, on a thread of its own: a busy process has no thread of the pool to spare for seconds, and
/// readers that miss its heartbeats for <see cref="HostSign.MissedAfter"/> take it for dead.
/// </summary>
/// <param name="signs">Where they are kept, over a connection that what the process does can't keep busy.</param>
/// <param name="roles">What it does, with ", " between.</param>
/// <param name="time">The clock of what is recorded.</param>
/// <param name="onBeat">Told of each: null, or why it failed.</param>
public sealed class HostSigns(
    IHostSigns signs, string roles, HostTroubles troubles, TimeProvider time, Action<HibpException?>? onBeat = null) : IAsyncDisposable
{
    private static readonly TimeSpan FarewellTimeout = TimeSpan.FromSeconds(5);

    private readonly DateTimeOffset _startedAt = time.GetUtcNow();
    private readonly CancellationTokenSource _stop = new();
    private readonly TaskCompletionSource _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private bool _hasStarted;
    private bool _mayBeThere;
    private bool _hasGiven;

    /// <summary>Sends them until this is disposed; the first of them removes hosts that nobody waits for any more.</summary>
    public void Start()
    {
        _hasStarted = true;
        new Thread(Run) { IsBackground = true, Name = "heartbeat" }.Start();
    }

    /// <summary>It has ended as it should: nobody is to wait for its heartbeat.</summary>
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
            await signs.RemoveSignAsync(LoadLeases.Host, timeout.Token);
        }
        catch (Exception e) when (e is HibpException or OperationCanceledException)
        {
            // For a day it will be listed as one that sends none.
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
                    // Whoever lists the hosts sees that it is missing.
                    onBeat?.Invoke(e);
                }
            }
            while (!_stop.Token.WaitHandle.WaitOne(HostSign.Every));
            _ended.SetResult();
        }
        catch (OperationCanceledException) when (_stop.IsCancellationRequested)
        {
            _ended.SetResult();
        }
        catch (Exception e)
        {
            // A fault of this program: it must be seen, when the host ends, and not end it here.
            _ended.SetException(e);
        }
    }

    private void Beat()
    {
        var now = time.GetUtcNow();
        // Stopped under way, it may have been recorded all the same.
        _mayBeThere = true;
        signs.PutSign(
            new HostSign(
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
        foreach (var sign in await signs.ListSignsAsync(_stop.Token))
        {
            if (now - sign.SeenAt > HostSign.ForgottenAfter)
                await signs.RemoveSignAsync(sign.Host, _stop.Token);
        }
    }
}
