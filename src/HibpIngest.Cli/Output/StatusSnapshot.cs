using HibpIngest.Pipeline.Callbacks;
using HibpIngest.Pipeline.Removal;

namespace HibpIngest.Cli.Output;

/// <summary>A snapshot of the pipeline's state, or of one breach's.</summary>
/// <param name="Waiting">Dropped files that no host has picked up; empty if only one breach is shown.</param>
internal sealed record StatusSnapshot(
    IReadOnlyList<Load> Loads, IReadOnlyList<QueueDocument> Queues, IReadOnlyList<Heartbeat> Hosts, IReadOnlyList<HeldWork> Held,
    IReadOnlyList<BreachBlob> Waiting)
{
    private static readonly TimeSpan RecentFor = TimeSpan.FromDays(1);

    public IReadOnlyList<OpenRemoval> Removals { get; init; } = [];

    /// <summary>Work of each load, for the loads for which it was read.</summary>
    public IReadOnlyDictionary<LoadId, LoadWork> Work { get; init; } = new Dictionary<LoadId, LoadWork>();

    public static async Task<StatusSnapshot> ReadAsync(IServiceProvider services, string? breach, CancellationToken cancellationToken)
    {
        var (database, register) = (services.GetRequiredService<IBreachDatabase>(), services.GetRequiredService<IStoreRegister>());
        var queues = ReadQueuesAsync(services.GetRequiredService<IMessageQueues>(), cancellationToken);
        var hosts = register.ListHeartbeatsAsync(cancellationToken);
        var loads = await services.GetRequiredService<CallSchedule>().WithPausedAsync(
            await database.ListLoadsAsync(breach, cancellationToken), cancellationToken);
        var held = await database.ListLeasesAsync(cancellationToken);
        return new StatusSnapshot(
            loads, await queues, await hosts, [.. held.Where(work => breach is null || work.Breach == breach)],
            breach is null ? await WaitingAsync(services.GetRequiredService<IBreachBlobs>(), register, loads, cancellationToken) : [])
        {
            Removals = [.. (await services.GetRequiredService<RemovalStatus>().ListAsync(cancellationToken))
                .Where(removal => breach is null || removal.Breach == breach)],
        };
    }

    public static async Task<IReadOnlyList<QueueDocument>> ReadQueuesAsync(IMessageQueues queues, CancellationToken cancellationToken)
    {
        return await Task.WhenAll(QueueNames.All.Select(async queue => new QueueDocument(
            queue, await CountAsync(queues.Get(queue)), await CountAsync(queues.Get(queue + QueueNames.PoisonSuffix)))));

        async Task<int> CountAsync(IMessageQueue queue)
        {
            try
            {
                return (await queue.GetDepthAsync(cancellationToken)).Messages;
            }
            catch (StoreMissingException)
            {
                return 0; // the next host creates it
            }
        }
    }

    public LoadFigures FiguresOf(Load load, DateTimeOffset now, double mailsPerSecond, bool moves) => LoadFigures.Of(
        load, Work.GetValueOrDefault(load.Id), now, mailsPerSecond,
        HostsView.IsInProgress(load, Held, Hosts, now) && (moves || load.State != LoadState.Notifying));

    public async Task<StatusSnapshot> WithWorkAsync(ILoads database, IEnumerable<Load> loads, CancellationToken cancellationToken)
    {
        var work = await database.ListWorkAsync([.. loads.Select(load => load.Id)], cancellationToken);
        return this with { Work = work.ToDictionary(one => one.Load) };
    }

    public StatusSnapshot Recent(DateTimeOffset now, int newest) => this with
    {
        Loads = [.. Loads.Where((load, index) => index >= Loads.Count - newest || !IsOver(load) || now - load.FinishedAt < RecentFor)],
    };

    private static bool IsOver(Load load) => load.State is LoadState.Done or LoadState.Failed && !load.AwaitsCalls && !load.Removing;

    private static async Task<IReadOnlyList<BreachBlob>> WaitingAsync(
        IBreachBlobs blobs, IWorkRegister register, IReadOnlyList<Load> loads, CancellationToken cancellationToken)
    {
        var taken = loads.Select(load => load.Blob).ToHashSet();
        try
        {
            // Only blobs without a load, which are few, need their receipt checked.
            return await blobs.ListDropsAsync(cancellationToken).Where(blob => !taken.Contains(blob.Version))
                .Where(async (blob, token) => !await register.HasReceiptAsync(blob.Version, token)).ToListAsync(cancellationToken);
        }
        catch (StoreMissingException)
        {
            return [];
        }
    }
}
