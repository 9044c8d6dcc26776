namespace HibpIngest.Pipeline;

/// <summary>Finds zips that have no receipt and sends each to the ingest queue; then writes its receipt. A blob version fires once.</summary>
public sealed class BlobScan(PipelineContext context)
{
    /// <summary>Returns how many it sent.</summary>
    public Task<int> RunAsync(TimeSpan minimumAge, CancellationToken cancellationToken) => throw new NotImplementedException(context.Owner);
}
