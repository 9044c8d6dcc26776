namespace HibpIngest.Pipeline.Journal;

/// <summary>Sends the journal's messages. A load stays open until it is journaled; Sweep sends messages that a crash lost.</summary>
public sealed class JournalSchedule(
    ILoads loads, ILoadRows log, IWorkRegister register, PipelineMessages messages, IOptions<JournalOptions> options)
{
    public bool IsOn => options.Value.Mode == JournalMode.On;

    public int SegmentBatches => options.Value.SegmentBatches;

    /// <summary>Sends the message that journals a load as far as is possible now.</summary>
    public async Task SendAsync(LoadId load, CancellationToken cancellationToken)
    {
        if (!IsOn)
            return;
        await messages.SendAsync(new JournalMessage { Load = load.Value }, TimeSpan.Zero, cancellationToken);
        await log.MarkJournalMessageSentAsync(load, cancellationToken);
    }

    /// <summary>Must be called before a change of a breach: marks its loads as open, so that Sweep finishes them after a crash.</summary>
    public async Task OpenAsync(string breach, CancellationToken cancellationToken)
    {
        if (!IsOn)
            return;
        foreach (var load in await loads.ListLoadsAsync(breach, cancellationToken))
        {
            if (load.PublishedAt is not null)
                await register.MarkOpenAsync(load.Id, cancellationToken);
        }
    }

    /// <summary>Must be called after such a change: sends the messages that journal it.</summary>
    public async Task SendAsync(string breach, CancellationToken cancellationToken, LoadId except = default)
    {
        foreach (var load in await ListWaitingAsync(breach, cancellationToken))
        {
            if (load.Id == except)
                continue;
            await register.MarkOpenAsync(load.Id, cancellationToken);
            await SendAsync(load.Id, cancellationToken);
        }
    }

    public async Task<IReadOnlyList<Load>> ListWaitingAsync(string breach, CancellationToken cancellationToken) =>
        IsOn ? [.. (await loads.ListLoadsAsync(breach, cancellationToken)).Where(load => load.AwaitsJournal)] : [];
}

/// <summary>A change was made and readers see it, but it isn't in the journal yet.</summary>
public sealed class JournalBehindException(string message, HibpException cause) : HibpException(message, cause);
