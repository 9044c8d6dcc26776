using HibpIngest.Breaches;

namespace HibpIngest.Pipeline;

/// <summary>
/// Finds zips that have no receipt, sends each to the ingest queue, and writes its receipt: a blob version fires once, a new version or a new name fires again. A crash
/// between the two sends it twice, which the ingest's key takes.
/// </summary>
public sealed class BlobScan(PipelineContext context)
{
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
                var message = new IngestMessage { Blob = blob.Version.Name, ETag = blob.Version.ETag };
                await context.SendAsync(QueueNames.Ingest, message, TimeSpan.Zero, cancellationToken);
                await context.Register.AddReceiptAsync(blob.Version, cancellationToken);
                sent++;
            }
            listed.Add(blob.Version);
        }
        _known = listed;
        return sent;
    }
}
