using Polly;
using Polly.Retry;

namespace HibpIngest.Pipeline.Layouts;

/// <summary>Retries requests to a table that throttles or is briefly unavailable: a walk over a table may take hours, unattended.</summary>
internal static class TableRetry
{
    // About two minutes in all, on top of the retries of each request: as long as a failover takes.
    private static readonly TimeSpan FirstDelay = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan MaxDelay = TimeSpan.FromSeconds(64);
    private const int MaxRetries = 7;

    /// <param name="onDelay">Called before each delay, with the reason.</param>
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
