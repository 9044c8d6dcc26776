using HibpIngest.Pipeline.Callbacks;
using HibpIngest.Pipeline.Catalogue;
using HibpIngest.Pipeline.Ingest;
using HibpIngest.Pipeline.Journal;
using HibpIngest.Pipeline.Mail;
using HibpIngest.Pipeline.Setup;
using HibpIngest.Pipeline.Upsert;

namespace HibpIngest.Pipeline.Sweeping;

/// <summary>
/// Sends messages again that were lost between two steps, and publishes a catalogue that may be behind, once a minute, one sweep at a
/// time. Queries no database if no load is open and no such mark is set, so that a serverless one can pause. Its messages may be
/// duplicates, which every stage tolerates.
/// </summary>
public sealed partial class Sweep(
    IStoreMarks open, IDatabaseState locks, ILoads loads, ISlices slices, IMessageQueues queues, BlobScan blobs, StoreSetup setup,
    UpsertCompletion upsert, PublishCatalogue catalogue, MailSchedule mails, JournalSchedule schedule, CallSchedule calls,
    LoadReports reports, PipelineMessages messages, IOptions<SweepOptions> options, TimeProvider time, ILogger<Sweep> log)
{
    private const string LockName = "sweep";

    // The next minute's sweep sends the rest.
    private const int SlicesAtOnce = 1_000;

    public async Task RunAsync(CancellationToken cancellationToken)
    {
        var found = await open.ListOpenAsync(cancellationToken);
        if (found.Count > 0)
        {
            await RenewingLock.TryRunAsync(locks, LockName, time, async token =>
            {
                await SweepLoadsAsync(found, token);
                if (await calls.SweepAsync(token) is > 0 and var clients)
                    LogClientsResent(clients);
            }, cancellationToken);
        }
        await catalogue.SweepAsync(setup.EnsureIdsAsync, cancellationToken);
        await blobs.RunAsync(options.Value.SweepBlobAge, cancellationToken);
        if (!HibpTelemetry.WatchesQueues)
            return;
        foreach (var queue in QueueNames.AllWithPoison)
            HibpTelemetry.QueueSeen(queue, await queues.Get(queue).GetDepthAsync(cancellationToken));
    }

    private async Task SweepLoadsAsync(IReadOnlyList<(long Load, string Version)> marks, CancellationToken cancellationToken)
    {
        // The messages sent below cause marks to be written: the marks must be confirmed, and a database restored from a backup must not be
        // used.
        await setup.EnsureIdsAsync(cancellationToken);
        await SendSlicesAsync(
            await slices.ListPendingSlicesAsync(options.Value.SweepPendingAge, SlicesAtOnce, cancellationToken), cancellationToken);
        await SendSlicesAsync(
            await slices.ListStaleSlicesAsync(options.Value.SweepStaleAge, SlicesAtOnce, cancellationToken), cancellationToken);

        foreach (var (id, version) in marks)
        {
            cancellationToken.ThrowIfCancellationRequested();
            if (await loads.GetLoadAsync(id, cancellationToken) is { } found)
            {
                var load = (await calls.WithPausedAsync([found], cancellationToken))[0];
                reports.Report(load);
                if (!IsSettled(load))
                {
                    await SweepLoadAsync(load, cancellationToken);
                    continue;
                }
                await calls.CleanAsync(load, cancellationToken);
            }
            await open.ClearOpenAsync(id, version, cancellationToken);
        }
    }

    private async Task SweepLoadAsync(Load load, CancellationToken cancellationToken)
    {
        switch (load.State)
        {
            case LoadState.Ingesting when IsStalled(load):
                LogResent(load.Id, "ingest");
                await messages.SendLoadMessageAsync(new IngestMessage { Load = load.Id }, TimeSpan.Zero, cancellationToken);
                break;
            case LoadState.Upserting:
                await upsert.TryAsync(load.Id, cancellationToken);
                break;
            case LoadState.Matching when IsStalled(load):
                LogResent(load.Id, "match");
                await messages.SendLoadMessageAsync(new MatchMessage { Load = load.Id }, TimeSpan.Zero, cancellationToken);
                break;
            case LoadState.Notifying when await mails.ContinueAsync(load.Id, options.Value.SweepStaleAge, cancellationToken):
                LogResent(load.Id, "mail");
                break;
        }
        if (AwaitsLog(load) && !(time.GetUtcNow() - load.LogMessageAt < options.Value.SweepStaleAge))
        {
            LogResent(load.Id, "log");
            await schedule.SendAsync(load.Id, cancellationToken);
        }
        // A load of a hidden breach has no slices to send while it is hidden.
        if (CallSchedule.IsStalled(load, time.GetUtcNow(), options.Value.SweepStaleAge)
            && await calls.LookThroughAsync(load.Id, cancellationToken))
        {
            LogResent(load.Id, "call");
        }
    }

    // Whether no process works on a load and none of its messages can be in transit: its owner died after the last one was sent, or that
    // was longer ago than a message can stay hidden. Other loads' messages say nothing about this one's.
    private bool IsStalled(Load load)
    {
        if (load.LeaseExpiresAt is not null)
            return false;
        // No message was ever sent: the load was started by an event whose invocation ended before the load did, or is just starting, in
        // which case a second message is harmless.
        if (load.MessageSentAt is not { } sentAt)
            return true;
        return load.LeaseRanOutAt is { } ranOut && sentAt <= ranOut || time.GetUtcNow() - sentAt >= options.Value.SweepStaleAge;
    }

    private async Task SendSlicesAsync(IReadOnlyList<Slice> lost, CancellationToken cancellationToken)
    {
        if (lost.Count == 0)
            return;
        LogSlicesResent(lost.Count);
        await messages.SendSlicesAsync(lost, cancellationToken);
    }

    /// <summary>Whether nothing of the load waits for a message. A failed load may still have slices to send.</summary>
    private bool IsSettled(Load load) =>
        load.Removing || (!AwaitsLog(load) && !(load.AwaitsCalls && load.State != LoadState.Held) && (
            load.State is LoadState.Done or LoadState.Held || (load.State == LoadState.Failed && load.Slices.Pending == 0)
            || (load.Purged && (load.LoggedVersion is null || (load.State != LoadState.Upserting && load.Slices.Pending == 0)))));

    private bool AwaitsLog(Load load) => schedule.IsOn && load.WaitsForLog;

    [LoggerMessage(EventIds.SweepResent, LogLevel.Warning, "load {Load}: lost {Stage} message sent again")]
    private partial void LogResent(long load, string stage);

    [LoggerMessage(EventIds.SweepClientsResent, LogLevel.Warning, "callbacks: lost or due messages of {Clients} clients sent again")]
    private partial void LogClientsResent(int clients);

    [LoggerMessage(EventIds.SweepSlicesResent, LogLevel.Warning, "slices: {Slices} lost messages sent again")]
    private partial void LogSlicesResent(int slices);
}
