namespace HibpIngest.Pipeline.Ingest;

public sealed class DroppedBreaches(StageRunner runner, IngestBreach ingest, LoadStart starts, IBreachBlobs blobs)
{
    /// <summary>Ingests the current version of an announced blob; another event for a version only resumes an interrupted load.</summary>
    /// <exception cref="UnavailableException">Blob storage can't be reached; the next blob scan finds the blob too.</exception>
    public async Task IngestAsync(string blob, CancellationToken cancellationToken)
    {
        // Metadata, a logo, or an unrelated file.
        if (BreachFiles.FormatOf(blob) is null)
            return;
        // A deleted or replaced blob is skipped: the current version has its own event.
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
