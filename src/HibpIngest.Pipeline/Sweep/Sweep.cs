using HibpIngest.Breaches;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

/// <summary>
/// Re-sends what was lost between two steps, once a minute, one sweep at a time. It asks no database when no
/// load is open, so that a serverless one can pause. Everything it sends may be a second copy: every stage
/// takes that.
/// </summary>
public sealed partial class Sweep(PipelineContext context)
{
    private const string LockName = "sweep";

    // A sweep that found more would hold its lock too long; the next minute's goes on.
    private const int SlicesAtOnce = 1_000;

    // Longer than a sweep of 2,000 sends takes, shorter than an operator's patience.
    private static readonly TimeSpan LockLease = TimeSpan.FromMinutes(5);

    private readonly ILogger _log = context.Logs.CreateLogger<Sweep>();
    private readonly BlobScan _blobs = new(context);
    private readonly StoreSetup _setup = new(context);

    public async Task RunAsync(CancellationToken cancellationToken)
    {
        var open = await context.Register.ListOpenAsync(cancellationToken);
        if (open.Count > 0 && await context.Database.TryLockAsync(LockName, context.Owner, LockLease, cancellationToken))
        {
            try
            {
                await SweepLoadsAsync(open, cancellationToken);
            }
            finally
            {
                await context.Database.UnlockAsync(LockName, context.Owner, CancellationToken.None);
            }
        }
        await _blobs.RunAsync(context.Options.SweepBlobAge, cancellationToken);
        if (HibpTelemetry.WatchesQueues)
            await TellQueuesAsync(cancellationToken);
    }

    private async Task TellQueuesAsync(CancellationToken cancellationToken)
    {
        foreach (var queue in QueueNames.All.SelectMany(name => (string[])[name, name + QueueNames.PoisonSuffix]))
            HibpTelemetry.QueueSeen(queue, await context.Queues.Get(queue).GetDepthAsync(cancellationToken));
    }

    private async Task SweepLoadsAsync(IReadOnlyList<(long Load, string Version)> open, CancellationToken cancellationToken)
    {
        // What is sent below names marks: they have to be confirmed, and a database that was put back to a
        // backup is not to be gone on with.
        await _setup.EnsureIdsAsync(cancellationToken);
        await SendSlicesAsync(await context.Database.ListPendingSlicesAsync(context.Options.SweepPendingAge, SlicesAtOnce, cancellationToken), cancellationToken);
        await SendSlicesAsync(await context.Database.ListStaleSlicesAsync(context.Options.SweepStaleAge, SlicesAtOnce, cancellationToken), cancellationToken);

        foreach (var (id, version) in open)
        {
            cancellationToken.ThrowIfCancellationRequested();
            var load = await context.Database.GetLoadAsync(id, cancellationToken);
            if (load is not null)
                context.ReportLoad(load);
            if (load is null || IsSettled(load))
                await context.Register.ClearOpenAsync(id, version, cancellationToken);
            else
                await SweepLoadAsync(load, cancellationToken);
        }
    }

    private async Task SweepLoadAsync(Load load, CancellationToken cancellationToken)
    {
        switch (load.State)
        {
            case LoadState.Ingesting when IsForsaken(load):
                LogResent(load.Id, "ingest");
                await context.SendLoadMessageAsync(QueueNames.Ingest, new IngestMessage { Load = load.Id }, cancellationToken);
                break;
            case LoadState.Upserting:
                await context.CompleteUpsertAsync(load.Id, cancellationToken);
                break;
            case LoadState.Matching when IsForsaken(load):
                LogResent(load.Id, "match");
                await context.SendLoadMessageAsync(QueueNames.Match, new MatchMessage { Load = load.Id }, cancellationToken);
                break;
            case LoadState.Notifying when await context.ContinueMailsAsync(load.Id, context.Options.SweepStaleAge, cancellationToken):
                LogResent(load.Id, "mail");
                break;
        }
    }

    /// <summary>
    /// Whether nobody works at a load and no message of it can be on its way: its owner died since the last one
    /// was sent, or that was longer ago than a message can stay hidden. Other loads' messages say nothing of
    /// this one's.
    /// </summary>
    private bool IsForsaken(Load load)
    {
        if (load.LeaseExpiresAt is not null)
            return false;
        // None was ever sent: it was begun by an event, whose invocation has ended before its load did. (Or is
        // just beginning, and takes a second message.)
        if (load.MessageSentAt is not { } sentAt)
            return true;
        return load.LeaseRanOutAt is { } ranOut && sentAt <= ranOut || context.Time.GetUtcNow() - sentAt >= context.Options.SweepStaleAge;
    }

    private async Task SendSlicesAsync(IReadOnlyList<Slice> slices, CancellationToken cancellationToken)
    {
        if (slices.Count == 0)
            return;
        LogSlicesResent(slices.Count);
        await context.SendSlicesAsync(slices, cancellationToken);
    }

    /// <summary>Nothing of it waits for a message. Of a failed load, slices that are yet to be sent still are.</summary>
    private static bool IsSettled(Load load) =>
        load.Removing || load.State is LoadState.Done or LoadState.Held || (load.State == LoadState.Failed && load.Slices.Pending == 0) || load.Purged;
}
