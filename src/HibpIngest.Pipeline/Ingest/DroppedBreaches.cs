using HibpIngest.Breaches;
using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>Ingests the blobs that events announce.</summary>
public sealed class DroppedBreaches(StageRunner runner, IngestBreach ingest, LoadStart starts, IBreachBlobs blobs)
{
    /// <summary>
    /// Ingests the present version of a blob. As for <see cref="BlobScan"/>, a version starts one load: another event of it only
    /// resumes a load that was interrupted. Returns when the ingest has ended, or is safely handed on.
    /// </summary>
    /// <param name="blob">The blob's name within the container.</param>
    /// <param name="cancellationToken">Stops it at a batch.</param>
    /// <exception cref="Errors.StoreUnavailableException">The blobs can't be reached, so that there is no message yet to defer; the
    /// next blob scan finds the blob too.</exception>
    public async Task IngestAsync(string blob, CancellationToken cancellationToken)
    {
        // Metadata, a logo, or another file.
        if (BreachFiles.FormatOf(blob) is null)
            return;
        // Deleted, or replaced: the present version has an event of its own.
        if (await blobs.FindAsync(blob, cancellationToken) is not { Version: var version })
            return;
        if (!BreachName.IsRefused(blob))
        {
            await runner.RunAsync(new IngestMessage { Blob = version.Name, ETag = version.ETag }, ingest, cancellationToken);
            return;
        }
        await runner.EnsureStoresAsync(cancellationToken);
        await starts.RefuseAsync(version, cancellationToken);
    }
}
