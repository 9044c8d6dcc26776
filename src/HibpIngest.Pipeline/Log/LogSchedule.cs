using HibpIngest.Breaches;
using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>
/// Sends the messages that have loads logged. A load stays open until it is; what a crash keeps from being sent, Sweep
/// sends.
/// </summary>
public sealed class LogSchedule(ILoads loads, ILoadLog log, IOpenLoads open, PipelineMessages messages, IOptions<JournalOptions> options)
{
    /// <summary>Whether there is an account log.</summary>
    public bool IsOn => options.Value.Log == LogMode.On;

    /// <summary>Has a load logged, as far as that can be by now.</summary>
    public async Task SendAsync(long load, CancellationToken cancellationToken)
    {
        if (!IsOn)
            return;
        await messages.SendAsync(new LogMessage { Load = load }, TimeSpan.Zero, cancellationToken);
        await log.MarkLogMessageSentAsync(load, cancellationToken);
    }

    /// <summary>Before a change of what is told of a breach: Sweep sees to its loads, should this process die behind it.</summary>
    public async Task OpenAsync(string breach, CancellationToken cancellationToken)
    {
        if (!IsOn)
            return;
        foreach (var load in await loads.ListLoadsAsync(breach, cancellationToken))
        {
            if (load.PublishedAt is not null)
                await open.MarkOpenAsync(load.Id, cancellationToken);
        }
    }

    /// <summary>Behind such a change: its loads are told of anew.</summary>
    /// <param name="except">A load that needs no message.</param>
    public async Task SendAsync(string breach, CancellationToken cancellationToken, long except = 0)
    {
        foreach (var load in await ListWaitingAsync(breach, cancellationToken))
        {
            if (load.Id == except)
                continue;
            await open.MarkOpenAsync(load.Id, cancellationToken);
            await SendAsync(load.Id, cancellationToken);
        }
    }

    /// <summary>Returns the loads of a breach that the log is to tell something newer of.</summary>
    public async Task<IReadOnlyList<Load>> ListWaitingAsync(string breach, CancellationToken cancellationToken) =>
        IsOn ? [.. (await loads.ListLoadsAsync(breach, cancellationToken)).Where(load => load.WaitsForLog)] : [];
}
