using HibpIngest.Pipeline.Ingest;

namespace HibpIngest.Pipeline.Sweeping;

/// <summary>
/// Sends messages again that were lost between two steps, and publishes a catalogue that may be behind, once a minute, one sweep at a
/// time. Queries no database if no load is open and no such mark is set, so that a serverless one can pause. Its messages may be
/// duplicates, which every stage tolerates.
/// </summary>
public sealed class Sweep(
    IWorkRegister register, IDatabaseState database, SweepLoads loads, SweepCatalogue catalogue, BlobScan blobs, IMessageQueues queues,
    TimeProvider time)
{
    private const string LockName = "sweep";

    public async Task RunAsync(CancellationToken cancellationToken)
    {
        var open = await register.ListOpenAsync(cancellationToken);
        if (open.Count > 0)
            await RenewingLock.TryRunAsync(database, LockName, time, token => loads.RunAsync(open, token), cancellationToken);
        await catalogue.RunAsync(cancellationToken);
        await blobs.SweepAsync(cancellationToken);
        if (!HibpTelemetry.WatchesQueues)
            return;
        foreach (var queue in QueueNames.AllWithPoison)
            HibpTelemetry.QueueSeen(queue, await queues.Get(queue).GetDepthAsync(cancellationToken));
    }
}
