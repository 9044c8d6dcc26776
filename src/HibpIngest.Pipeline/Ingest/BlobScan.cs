using HibpIngest.Breaches;

namespace HibpIngest.Pipeline;

/// <summary>
/// Finds zips that have no receipt, and sends each to the ingest queue: a blob version fires once, a new
/// version or a new name fires again. The receipt is written by what records the load, and by nothing else;
/// until then the message counts as on its way for a short while only, so that one that is lost, or poisoned
/// and purged, is sent again. Twice is what the ingest's key takes.
/// </summary>
public sealed class BlobScan(PipelineContext context)
{
    /// <summary>
    /// One ingest a process: a message may wait behind another load's for hours, and every further one of it is
    /// a delivery for nothing.
    /// </summary>
    private static readonly TimeSpan OnItsWay = TimeSpan.FromMinutes(10);

    // Versions known to have a receipt, so that a scan asks once for each; the listing bounds it.
    private HashSet<BlobVersion> _known = [];

    /// <summary>Returns how many it sent.</summary>
    /// <param name="minimumAge">Younger ones are left to the next scan, or to the event that is on its way.</param>
    public async Task<int> RunAsync(TimeSpan minimumAge, CancellationToken cancellationToken)
    {
        var sent = 0;
        var listed = new HashSet<BlobVersion>();
        var before = context.Time.GetUtcNow() - minimumAge;
        await foreach (var blob in context.Blobs.ListZipsAsync(cancellationToken))
        {
            if (minimumAge > TimeSpan.Zero && blob.LastModified > before)
                continue;
            if (!_known.Contains(blob.Version) && !await context.Register.HasReceiptAsync(blob.Version, cancellationToken))
            {
                if (NameText.HoldsAt(blob.Version.Name))
                {
                    await new IngestBreach(context).RefuseAsync(blob.Version, cancellationToken);
                    continue;
                }
                if (!await context.Register.TryMarkSentAsync(blob.Version, context.Time.GetUtcNow(), OnItsWay, cancellationToken))
                    continue;
                var message = new IngestMessage { Blob = blob.Version.Name, ETag = blob.Version.ETag };
                await context.SendAsync(QueueNames.Ingest, message, TimeSpan.Zero, cancellationToken);
                sent++;
                continue;
            }
            listed.Add(blob.Version);
        }
        _known = listed;
        return sent;
    }
}
