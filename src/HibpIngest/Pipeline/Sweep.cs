using HibpIngest.Breaches;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

/// <summary>
/// Re-sends what was lost between two steps, once a minute, one sweep at a time. It asks no database when no load is open, so that a serverless one can pause. Everything
/// it sends may be a second copy: every stage takes that.
/// </summary>
public sealed partial class Sweep(PipelineContext context)
{
    private const string LockName = "sweep";

    // A sweep that found more would hold its lock too long; the next minute's goes on.
    private const int SlicesAtOnce = 5_000;

    // Longer than a sweep of 5,000 sends takes, shorter than an operator's patience.
    private static readonly TimeSpan LockLease = TimeSpan.FromMinutes(5);

    private readonly ILogger _log = context.Logs.CreateLogger<Sweep>();
    private readonly BlobScan _blobs = new(context);

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
        await SendSlicesAsync(await context.Database.ListPendingSlicesAsync(context.Options.SweepPendingAge, SlicesAtOnce, cancellationToken), cancellationToken);
        if (await IsEmptyAsync(QueueNames.Slices, cancellationToken))
            await SendSlicesAsync(await context.Database.ListStaleSlicesAsync(context.Options.SweepStaleAge, SlicesAtOnce, cancellationToken), cancellationToken);

        foreach (var (id, version) in open)
        {
            cancellationToken.ThrowIfCancellationRequested();
            var load = await context.Database.GetLoadAsync(id, cancellationToken);
            if (load is not null)
                context.TellLoad(load);
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
            case LoadState.Ingesting when (load.LeaseExpiresAt is null || load.LeaseExpiresAt < context.Time.GetUtcNow()) && await IsEmptyAsync(QueueNames.Ingest, cancellationToken):
                LogResent(load.Id, "ingest");
                await context.SendAsync(QueueNames.Ingest, new IngestMessage { Load = load.Id }, TimeSpan.Zero, cancellationToken);
                break;
            case LoadState.Upserting:
                await context.CompleteUpsertAsync(load.Id, cancellationToken);
                break;
            case LoadState.Matching when load.LeaseExpiresAt is null && IsLost(load):
                LogResent(load.Id, "match");
                await context.SendMatchAsync(load.Id, cancellationToken);
                break;
            case LoadState.Notifying:
                if (await context.ContinueMailsAsync(load.Id, context.Options.SweepStaleAge, cancellationToken))
                    LogResent(load.Id, "mail");
                break;
        }
    }

    private async Task SendSlicesAsync(IReadOnlyList<Slice> slices, CancellationToken cancellationToken)
    {
        if (slices.Count == 0)
            return;
        LogSlicesResent(slices.Count);
        await context.SendSlicesAsync(slices, cancellationToken);
    }

    /// <summary>The message of its state was not sent, or so long ago that it is not hidden any more.</summary>
    private bool IsLost(Load load) => load.MessageSentAt is not { } sentAt || sentAt <= context.Time.GetUtcNow() - context.Options.SweepStaleAge;

    /// <summary>Nothing of it waits for a message. Of a failed load, slices that are yet to be sent still are.</summary>
    private static bool IsSettled(Load load) =>
        load.State is LoadState.Done or LoadState.Held || (load.State == LoadState.Failed && load.Slices.Pending == 0) || load.Purged;

    // Messages that are hidden (delayed, or being worked on) count too, so an empty queue means that a queued message is lost.
    private async Task<bool> IsEmptyAsync(string queue, CancellationToken cancellationToken) =>
        (await context.Queues.Get(queue).GetDepthAsync(cancellationToken)).Messages == 0;
}
