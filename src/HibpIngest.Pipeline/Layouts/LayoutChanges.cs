using HibpIngest.Pipeline.People;
using Polly;
using Polly.Retry;

namespace HibpIngest.Pipeline.Layouts;

/// <summary>Applies to a layout what others that don't know it changed while it was being written: retired marks, and opt-outs.</summary>
public sealed class LayoutChanges(ILoads loads, IDatabaseState database, IStoreTables tables, OptOutOperations optOuts)
{
    internal Task ApplyOptOutsAsync(StoreLayout layout, CancellationToken cancellationToken) =>
        optOuts.ApplyAsync(layout, cancellationToken);

    internal async Task<HashSet<int>> FindRetiredAsync(CancellationToken cancellationToken)
    {
        // The order matters: a mark assigned between the two reads is not among them.
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

/// <summary>Retries requests to a table that throttles or is briefly unavailable: a scan of a table may take hours, unattended.</summary>
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
            ShouldHandle = new PredicateBuilder().Handle<UnavailableException>(e => e is not StoreFullException),
            OnRetry = retry =>
            {
                onDelay(retry.Outcome.Exception!.Message, retry.RetryDelay);
                return ValueTask.CompletedTask;
            },
        }).Build();
}
