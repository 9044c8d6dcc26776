namespace HibpIngest.Pipeline.Ingest;

/// <summary>Ingests the blobs that events announce.</summary>
public sealed class DroppedBreaches(StageRunner runner, IngestBreach ingest, LoadStart starts, IBreachBlobs blobs)
{
    /// <summary>
    /// Ingests the current version of a blob. As with <see cref="BlobScan"/>, a version starts one load; another event for it only resumes
    /// an interrupted load. Returns when the ingest has ended or a message continues it.
    /// </summary>
    /// <param name="blob">The blob's name within the container.</param>
    /// <param name="cancellationToken">Stops it at the end of a batch.</param>
    /// <exception cref="Errors.StoreUnavailableException">Blob storage can't be reached, and there is no message yet to defer. The next
    /// blob scan finds the blob too.</exception>
    public async Task IngestAsync(string blob, CancellationToken cancellationToken)
    {
        // Metadata, a logo, or an unrelated file.
        if (BreachFiles.FormatOf(blob) is null)
            return;
        // Deleted or replaced: the current version has its own event.
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
