using System.Threading.RateLimiting;

namespace HibpIngest.Api.Callers;

/// <summary>Limits apply per process: N instances allow N times as much.</summary>
internal sealed class RequestLimits : IDisposable
{
    public const string PolicyName = "key";

    public const int MaxWrongKeysPerMinute = 60;

    // Each lookup in progress may turn out to be of a wrong key, so this bounds the permits that FindWait must keep free.
    private const int MaxConcurrentLookups = 8;
    private const int MaxQueuedLookups = 1_000;

    private static readonly TimeSpan Minute = TimeSpan.FromMinutes(1);

    // A key may use at most ten seconds' worth of permits at once.
    private static readonly TimeSpan Burst = TimeSpan.FromSeconds(10);

    private readonly PartitionedRateLimiter<string> _wrong = PartitionedRateLimiter.Create<string, string>(
        network => RateLimitPartition.GetTokenBucketLimiter(network, _ => PerMinute(MaxWrongKeysPerMinute, MaxWrongKeysPerMinute)));

    private readonly PartitionedRateLimiter<string> _lookUps = PartitionedRateLimiter.Create<string, string>(
        network => RateLimitPartition.GetConcurrencyLimiter(
            network, _ => new ConcurrencyLimiterOptions { PermitLimit = MaxConcurrentLookups, QueueLimit = MaxQueuedLookups }));

    public static RateLimitPartition<(string, int Rpm)> PartitionOf(HttpContext context) => Caller.Of(context).Key is { } key
        ? RateLimitPartition.GetTokenBucketLimiter(
            (key.Hash, key.Rpm), one => PerMinute(one.Rpm, Math.Max(1, (int)(one.Rpm * (Burst / Minute)))))
        : RateLimitPartition.GetNoLimiter(("", 0));

    public static TimeSpan RetryAfter(RateLimitLease lease) =>
        lease.TryGetMetadata(MetadataName.RetryAfter, out var wait) ? wait : TimeSpan.FromSeconds(1);

    /// <summary>Must be called while the request holds a lookup lease.</summary>
    /// <returns>How long the network must wait before it may try another uncached key; null if it may try now.</returns>
    /// <remarks>
    /// Every lookup in progress may turn out to be of a wrong key, so one whole permit must be available for each. Acquiring 0 permits
    /// can't check this: it succeeds as soon as any fraction of a permit is refilled.
    /// </remarks>
    public TimeSpan? FindWait(string network)
    {
        var running = MaxConcurrentLookups - (_lookUps.GetStatistics(network)?.CurrentAvailablePermits ?? MaxConcurrentLookups);
        return _wrong.GetStatistics(network)?.CurrentAvailablePermits >= Math.Max(1, running) ? null : Minute / MaxWrongKeysPerMinute;
    }

    public void CountWrongKey(string network) => _wrong.AttemptAcquire(network).Dispose();

    /// <returns>A lease whose IsAcquired is false if too many requests are waiting.</returns>
    public ValueTask<RateLimitLease> AcquireLookupAsync(string network, CancellationToken cancellationToken) =>
        _lookUps.AcquireAsync(network, 1, cancellationToken);

    public void Dispose()
    {
        _wrong.Dispose();
        _lookUps.Dispose();
    }

    private static TokenBucketRateLimiterOptions PerMinute(int permits, int burst) => new()
    {
        TokenLimit = burst,
        TokensPerPeriod = 1,
        ReplenishmentPeriod = Minute / permits,
        QueueLimit = 0,
    };
}
