namespace HibpIngest.Pipeline;

/// <summary>Re-sends what was lost between two steps. Run once a minute; asks no database when no load is open.</summary>
public sealed class Sweep(PipelineContext context)
{
    public Task RunAsync(CancellationToken cancellationToken) => throw new NotImplementedException(context.Owner);
}
