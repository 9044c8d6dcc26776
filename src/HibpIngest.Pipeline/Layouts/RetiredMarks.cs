using Polly;
using Polly.Retry;

namespace HibpIngest.Pipeline.Layouts;

/// <summary>Finds retired marks, and removes them from entities that were written in the meantime.</summary>
public sealed class RetiredMarks(ILoads loads, IDatabaseState database, IStoreTables tables)
{
    /// <summary>Returns the marks of removed loads, and of loads that are being removed.</summary>
    internal async Task<HashSet<int>> FindAsync(CancellationToken cancellationToken)
    {
        // In this order: a mark assigned in between is not among them.
        var highest = (await database.GetHighestIdsAsync(cancellationToken)).Mark;
        var alive = (await loads.ListLoadsAsync(null, cancellationToken)).Where(load => !load.Removing).Select(load => load.Mark);
        return [.. Enumerable.Range(1, highest).Except(alive)];
    }

    /// <returns>Number of entities that had the mark.</returns>
    internal async Task<long> RemoveAsync(int mark, TablePart part, ResiliencePipeline retry, CancellationToken cancellationToken)
    {
        var changed = 0L;
        string? token = null;
        do
        {
            var page = await retry.ExecuteAsync(async stop => await part.RemoveMarkAsync(tables, mark, token, stop), cancellationToken);
            changed += page.Changed;
            token = page.Token;
        }
        while (token is not null);
        return changed;
    }
}

/// <summary>Retries requests to a table that throttles or is briefly unavailable: a walk over a table may take hours, unattended.</summary>
internal static class TableRetry
{
    // About two minutes in all, on top of the retries of each request: as long as a failover takes.
    private static readonly TimeSpan FirstDelay = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan MaxDelay = TimeSpan.FromSeconds(64);
    private const int MaxRetries = 7;

    public static ResiliencePipeline Create(Action<string, TimeSpan> onDelay, TimeProvider time) =>
        new ResiliencePipelineBuilder { TimeProvider = time }.AddRetry(new RetryStrategyOptions
        {
            MaxRetryAttempts = MaxRetries,
            Delay = FirstDelay,
            MaxDelay = MaxDelay,
            BackoffType = DelayBackoffType.Exponential,
            UseJitter = true,
            ShouldHandle = new PredicateBuilder().Handle<StoreUnavailableException>(e => e is not StoreFullException),
            OnRetry = retry =>
            {
                onDelay(retry.Outcome.Exception!.Message, retry.RetryDelay);
                return ValueTask.CompletedTask;
            },
        }).Build();
}
