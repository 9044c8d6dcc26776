namespace HibpIngest.Pipeline.Ingest;

/// <summary>Sends dropped files without a receipt to the ingest queue: once for each blob version.</summary>
public sealed class BlobScan(IBreachBlobs blobs, LoadStart starts, IOptions<SweepOptions> options, TimeProvider time)
{
    // Versions known to have a receipt, so that each is looked up once. Bounded by the listing.
    private HashSet<BlobVersion> _known = [];

    /// <summary>Sends files that no event has announced: younger ones are left to their event, which may still arrive.</summary>
    public Task<int> SweepAsync(CancellationToken cancellationToken) => RunAsync(options.Value.SweepBlobAge, cancellationToken);

    /// <summary>Returns the number of messages sent.</summary>
    /// <param name="minimumAge">Younger files are left to the next scan.</param>
    public async Task<int> RunAsync(TimeSpan minimumAge, CancellationToken cancellationToken)
    {
        var sent = 0;
        var listed = new HashSet<BlobVersion>();
        var before = time.GetUtcNow() - minimumAge;
        await foreach (var blob in blobs.ListDropsAsync(cancellationToken))
        {
            if (minimumAge > TimeSpan.Zero && blob.LastModified > before)
                continue;
            if (_known.Contains(blob.Version) || await starts.WasStartedAsync(blob.Version, cancellationToken))
                listed.Add(blob.Version);
            else if (BreachName.IsRefused(blob.Version.Name))
                await starts.RefuseAsync(blob.Version, cancellationToken);
            else if (await starts.TryAnnounceAsync(blob.Version, cancellationToken))
                sent++;
        }
        _known = listed;
        return sent;
    }
}
