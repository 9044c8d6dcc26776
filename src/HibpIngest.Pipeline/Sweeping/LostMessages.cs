using HibpIngest.Pipeline.Callbacks;
using HibpIngest.Pipeline.Matching;

namespace HibpIngest.Pipeline.Sweeping;

/// <summary>Decides which messages were lost between two steps, and sends them again.</summary>
public sealed partial class LostMessages(
    ISlices slices, PipelineMessages messages, UpsertCompletion upsert, LoadSchedules schedules, IOptions<SweepOptions> options,
    TimeProvider time, ILogger<Sweep> log)
{
    // The next minute's sweep sends the rest.
    private const int SlicesAtOnce = 1_000;

    private TimeSpan StaleAge => options.Value.SweepStaleAge;

    public async Task SendSlicesAsync(CancellationToken cancellationToken)
    {
        await SendAsync(
            await slices.ListPendingSlicesAsync(options.Value.SweepPendingAge, SlicesAtOnce, cancellationToken), cancellationToken);
        await SendAsync(await slices.ListStaleSlicesAsync(StaleAge, SlicesAtOnce, cancellationToken), cancellationToken);
    }

    public async Task SendAsync(Load load, CancellationToken cancellationToken)
    {
        switch (load.State)
        {
            case LoadState.Ingesting when IsStalled(load):
                LogResent(load.Id.Value, "ingest");
                await messages.SendLoadMessageAsync(new IngestMessage { Load = load.Id.Value }, TimeSpan.Zero, cancellationToken);
                break;
            case LoadState.Upserting:
                await upsert.TryAsync(load.Id, cancellationToken);
                break;
            case LoadState.Matching when IsStalled(load):
                LogResent(load.Id.Value, "match");
                await messages.SendLoadMessageAsync(new MatchMessage { Load = load.Id.Value }, TimeSpan.Zero, cancellationToken);
                break;
            case LoadState.Notifying when await schedules.Mails.ContinueAsync(load.Id, StaleAge, cancellationToken):
                LogResent(load.Id.Value, "mail");
                break;
        }
        if (AwaitsJournal(load) && !(time.GetUtcNow() - load.JournalMessageAt < StaleAge))
        {
            LogResent(load.Id.Value, "log");
            await schedules.Journal.SendAsync(load.Id, cancellationToken);
        }
        // A load of a hidden breach has no slices to send while it is hidden.
        if (CallSchedule.IsStalled(load, time.GetUtcNow(), StaleAge)
            && await schedules.Calls.LookThroughAsync(load.Id, cancellationToken))
        {
            LogResent(load.Id.Value, "call");
        }
    }

    /// <summary>True if nothing of the load waits for a message. A failed load may still have slices to send.</summary>
    public bool IsSettled(Load load) =>
        load.Removing || (!AwaitsJournal(load) && !(load.AwaitsCalls && load.State != LoadState.Held) && (
            load.State is LoadState.Done or LoadState.Held || (load.State == LoadState.Failed && load.Slices.Pending == 0)
            || (load.Purged && (load.JournaledVersion is null || (load.State != LoadState.Upserting && load.Slices.Pending == 0)))));

    // True if no process works on a load and none of its messages can be in transit: its owner died after the last one was sent, or that
    // was longer ago than a message can stay hidden. Other loads' messages say nothing about this one's.
    private bool IsStalled(Load load)
    {
        if (load.LeaseExpiresAt is not null)
            return false;
        // No message was ever sent: the load was started by an event whose invocation ended before the load did, or is just starting, in
        // which case a second message is harmless.
        if (load.MessageSentAt is not { } sentAt)
            return true;
        return load.LeaseRanOutAt is { } ranOut && sentAt <= ranOut || time.GetUtcNow() - sentAt >= StaleAge;
    }

    private async Task SendAsync(IReadOnlyList<Slice> lost, CancellationToken cancellationToken)
    {
        if (lost.Count == 0)
            return;
        LogSlicesResent(lost.Count);
        await messages.SendSlicesAsync(lost, cancellationToken);
    }

    private bool AwaitsJournal(Load load) => schedules.Journal.IsOn && load.AwaitsJournal;

    [LoggerMessage(EventIds.SweepResent, LogLevel.Warning, "load {Load}: lost {Stage} message sent again")]
    private partial void LogResent(long load, string stage);

    [LoggerMessage(EventIds.SweepSlicesResent, LogLevel.Warning, "{Slices} lost messages of slices sent again")]
    private partial void LogSlicesResent(int slices);
}
