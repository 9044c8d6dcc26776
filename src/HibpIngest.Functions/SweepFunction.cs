namespace HibpIngest.Functions;

/// <summary>Re-sends messages that were lost between two steps, every minute. It doesn't query the database unless there is work.</summary>
public sealed class SweepFunction(IEnumerable<HostSweep> sweeps)
{
    [Function("Sweep")]
    public Task RunAsync([TimerTrigger("0 * * * * *", UseMonitor = false)] TimerInfo timer, CancellationToken cancellationToken) =>
        Task.WhenAll(sweeps.Select(sweep => sweep.RunAsync(cancellationToken)));
}
