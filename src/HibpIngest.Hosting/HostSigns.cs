using HibpIngest.Errors;
using HibpIngest.Pipeline;
using HibpIngest.Stores;

namespace HibpIngest.Hosting;

/// <summary>Gives this process' signs of life.</summary>
/// <param name="signs">Where they are kept.</param>
/// <param name="roles">What it does, with ", " between.</param>
/// <param name="troubles">What it waits for.</param>
/// <param name="time">The clock.</param>
public sealed class HostSigns(IHostSigns signs, string roles, HostTroubles troubles, TimeProvider time)
{
    private static readonly TimeSpan FarewellTimeout = TimeSpan.FromSeconds(5);

    private readonly DateTimeOffset _startedAt = time.GetUtcNow();
    private bool _hasGiven;

    /// <summary>One; the first time those are taken away that nobody waits for any more.</summary>
    public async Task GiveAsync(CancellationToken cancellationToken)
    {
        var now = time.GetUtcNow();
        await signs.PutSignAsync(
            new HostSign(
                LoadLeases.Host, Environment.MachineName, Environment.ProcessId, roles, ProgramVersion.Short, _startedAt, now,
                troubles.List()),
            cancellationToken);
        if (_hasGiven)
            return;
        foreach (var sign in await signs.ListSignsAsync(cancellationToken))
        {
            if (now - sign.SeenAt > HostSign.ForgottenAfter)
                await signs.RemoveSignAsync(sign.Host, cancellationToken);
        }
        _hasGiven = true;
    }

    /// <summary>Gives them until cancelled, as far as that is possible, and takes its leave.</summary>
    public async Task RunAsync(CancellationToken cancellationToken)
    {
        while (!cancellationToken.IsCancellationRequested)
        {
            try
            {
                await GiveAsync(cancellationToken);
            }
            catch (Exception e) when (e is HibpException or OperationCanceledException)
            {
                // Whoever looks sees that it gives none; what is down is told by those who work.
            }
            await Task.Delay(HostSign.Every, time, cancellationToken).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }
        await LeaveAsync();
    }

    /// <summary>It has ended as it should: nobody is to wait for a sign of it.</summary>
    public async Task LeaveAsync()
    {
        if (!_hasGiven)
            return;
        using var timeout = new CancellationTokenSource(FarewellTimeout, time);
        try
        {
            await signs.RemoveSignAsync(LoadLeases.Host, timeout.Token);
        }
        catch (Exception e) when (e is HibpException or OperationCanceledException)
        {
            // It will be told for a day that it gives no sign.
        }
    }
}
