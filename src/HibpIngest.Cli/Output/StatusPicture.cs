using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Hosting;
using HibpIngest.Pipeline;
using HibpIngest.Stores;

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
    public static async Task<StatusPicture> ReadAsync(OpenPipeline pipeline, string? breach, CancellationToken cancellationToken)
    {
        var context = pipeline.Context;
        var queues = Task.WhenAll(QueueNames.All.Select(async queue => new QueueDocument(
            queue, await CountAsync(context.Queues.Get(queue)), await CountAsync(context.Queues.Get(queue + QueueNames.PoisonSuffix)))));
        var hosts = context.Register.ListSignsAsync(cancellationToken);
        var loads = await context.Database.ListLoadsAsync(breach, cancellationToken);
        var held = await context.Database.ListHeldAsync(cancellationToken);
        return new StatusPicture(
            loads, await queues, await hosts, [.. held.Where(work => breach is null || work.Breach == breach)],
            breach is null ? await WaitingAsync(context.Blobs, context.Register, loads, cancellationToken) : []);

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
