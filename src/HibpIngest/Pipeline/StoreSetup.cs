namespace HibpIngest.Pipeline;

/// <summary>Makes sure that the stores are there and belong together, before anything else touches them.</summary>
public sealed class StoreSetup(PipelineContext context)
{
    /// <summary>Creates container, queues and tables that are missing, upgrades a fresh database, and records or compares the store identity.</summary>
    /// <exception cref="Errors.StoreMismatchException">Database and table don't belong together.</exception>
    public Task EnsureAsync(CancellationToken cancellationToken) => throw new NotImplementedException(context.Owner);
}
