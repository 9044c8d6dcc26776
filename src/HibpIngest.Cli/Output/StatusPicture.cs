using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Messages;
using HibpIngest.Pipeline;
using HibpIngest.Stores;
using Microsoft.Extensions.DependencyInjection;

namespace HibpIngest.Cli.Output;

/// <summary>What there is to see of a store at a moment.</summary>
/// <param name="Loads">All, or those of a breach.</param>
/// <param name="Queues">All, with their poison queues.</param>
/// <param name="Hosts">The last sign of each.</param>
/// <param name="Held">What of these loads hosts have taken on.</param>
/// <param name="Waiting">Zips that nobody has taken on; of a breach's loads alone, none is looked for.</param>
internal sealed record StatusPicture(
    IReadOnlyList<Load> Loads, IReadOnlyList<QueueDocument> Queues, IReadOnlyList<HostSign> Hosts, IReadOnlyList<HeldWork> Held,
    IReadOnlyList<BreachBlob> Waiting)
{
    private static readonly TimeSpan RecentFor = TimeSpan.FromDays(1);

    /// <summary>Removals that are not complete, of all breaches or of the one that is shown.</summary>
    public IReadOnlyList<OpenRemoval> Removals { get; init; } = [];

    /// <summary>When loads were worked on, by load, as far as it was read.</summary>
    public IReadOnlyDictionary<long, LoadWork> Work { get; init; } = new Dictionary<long, LoadWork>();

    public static async Task<StatusPicture> ReadAsync(IServiceProvider services, string? breach, CancellationToken cancellationToken)
    {
        var (database, register) = (services.GetRequiredService<IBreachDatabase>(), services.GetRequiredService<IStoreRegister>());
        var queues = ReadQueuesAsync(services.GetRequiredService<IMessageQueues>(), cancellationToken);
        var hosts = register.ListSignsAsync(cancellationToken);
        var loads = await services.GetRequiredService<CallSchedule>().WithPausedAsync(
            await database.ListLoadsAsync(breach, cancellationToken), cancellationToken);
        var held = await database.ListHeldAsync(cancellationToken);
        return new StatusPicture(
            loads, await queues, await hosts, [.. held.Where(work => breach is null || work.Breach == breach)],
            breach is null ? await WaitingAsync(services.GetRequiredService<IBreachBlobs>(), register, loads, cancellationToken) : [])
        {
            Removals = [.. (await services.GetRequiredService<RemovalStatus>().ListAsync(cancellationToken))
                .Where(removal => breach is null || removal.Breach == breach)],
        };
    }

    /// <summary>Returns all queues with the number of their messages; a queue that does not exist yet has none.</summary>
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
                return 0; // the next host makes it
            }
        }
    }

    /// <summary>How far a load of it is.</summary>
    /// <param name="moves">Whether the load gets on, as far as is known.</param>
    public LoadFigures FiguresOf(Load load, DateTimeOffset now, double mailsPerSecond, bool moves) => LoadFigures.Of(
        load, Work.GetValueOrDefault(load.Id), now, mailsPerSecond,
        HostsView.IsInHand(load, Held, Hosts, now) && (moves || load.State != LoadState.Notifying));

    public async Task<StatusPicture> WithWorkAsync(ILoads database, IEnumerable<Load> loads, CancellationToken cancellationToken)
    {
        var work = await database.ListWorkAsync([.. loads.Select(load => load.Id)], cancellationToken);
        return this with { Work = work.ToDictionary(one => one.Load) };
    }

    /// <summary>Without the loads that ended a while ago, but for the newest.</summary>
    /// <param name="newest">How many of them stay.</param>
    public StatusPicture Recent(DateTimeOffset now, int newest) => this with
    {
        Loads = [.. Loads.Where((load, index) => index >= Loads.Count - newest || !IsOver(load) || now - load.FinishedAt < RecentFor)],
    };

    private static bool IsOver(Load load) => load.State is LoadState.Done or LoadState.Failed && !load.AwaitsCalls && !load.Removing;

    private static async Task<IReadOnlyList<BreachBlob>> WaitingAsync(
        IBreachBlobs blobs, IReceipts receipts, IReadOnlyList<Load> loads, CancellationToken cancellationToken)
    {
        var taken = loads.Select(load => load.Blob).ToHashSet();
        var waiting = new List<BreachBlob>();
        try
        {
            // Those without a load are few: what has been loaded needs no look at its receipt.
            await foreach (var blob in blobs.ListDropsAsync(cancellationToken))
            {
                if (!taken.Contains(blob.Version) && !await receipts.HasReceiptAsync(blob.Version, cancellationToken))
                    waiting.Add(blob);
            }
        }
        catch (StoreMissingException)
        {
            // No container, nothing in it.
        }
        return waiting;
    }
}
