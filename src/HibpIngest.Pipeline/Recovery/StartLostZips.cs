using HibpIngest.Pipeline.Ingest;

namespace HibpIngest.Pipeline.Recovery;

/// <summary>Starts zips without a load, which were dropped after the backup and never published.</summary>
public sealed class StartLostZips(
    ILoads loads, IWorkRegister register, IBreachBlobs blobs, LoadStart starts, PipelineMessages messages)
{
    /// <summary>Returns the number of loads started.</summary>
    /// <param name="because">Reason why they are held.</param>
    public async Task<int> RunAsync(string because, CancellationToken cancellationToken)
    {
        var started = 0;
        await foreach (var blob in blobs.ListDropsAsync(cancellationToken))
        {
            if (await loads.FindLoadAsync(blob.Version, cancellationToken) is not null
                || await register.WasRemovedAsync(blob.Version, cancellationToken))
            {
                continue;
            }
            var load = await starts.RunAsync(blob.Version, HoldReason.NotPublished + because, cancellationToken);
            await messages.SendLoadMessageAsync(new IngestMessage { Load = load.Id.Value }, TimeSpan.Zero, cancellationToken);
            started++;
        }
        return started;
    }
}
