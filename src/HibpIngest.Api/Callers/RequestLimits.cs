using System.Threading.RateLimiting;

namespace HibpIngest.Api.Callers;

/// <summary>Rate limits of keys, and of networks that guess keys. Per instance: N instances allow N times as much.</summary>
internal sealed class RequestLimits : IDisposable
{
    public const string PolicyName = "key";

    /// <summary>Wrong keys a minute from one network.</summary>
    public const int WrongKeys = 60;

    // A burst is at most what ten seconds refill.
    private const int BurstPart = 6;

    // Concurrent lookups of uncached keys for one network: the number of guesses that may exceed the limit.
    private const int LookUpsAtOnce = 8;
    private const int LookUpsWaiting = 1_000;

    private static readonly TimeSpan Minute = TimeSpan.FromMinutes(1);

    private readonly PartitionedRateLimiter<string> _wrong = PartitionedRateLimiter.Create<string, string>(
        network => RateLimitPartition.GetTokenBucketLimiter(network, _ => PerMinute(WrongKeys, WrongKeys)));

    private readonly PartitionedRateLimiter<string> _lookUps = PartitionedRateLimiter.Create<string, string>(
        network => RateLimitPartition.GetConcurrencyLimiter(
            network, _ => new ConcurrencyLimiterOptions { PermitLimit = LookUpsAtOnce, QueueLimit = LookUpsWaiting }));

    public static RateLimitPartition<(string, int Rpm)> PartitionOf(HttpContext context) => Caller.Of(context).Key is { } key
        ? RateLimitPartition.GetTokenBucketLimiter(
            (key.Hash, key.Rpm), one => PerMinute(one.Rpm, Math.Max(1, one.Rpm / BurstPart)))
        : RateLimitPartition.GetNoLimiter(("", 0));

    public static TimeSpan RetryAfter(RateLimitLease lease) =>
        lease.TryGetMetadata(MetadataName.RetryAfter, out var wait) ? wait : TimeSpan.FromSeconds(1);

    /// <summary>Returns whether a network may try another uncached key; called by a request that holds a lookup lease.</summary>
    /// <returns>Null if it may; else the time to wait.</returns>
    /// <remarks>
    /// Each key that is being looked up may turn out wrong, so there must be permits for all of them. Acquiring 0 permits doesn't work: it
    /// also succeeds on a partly refilled permit.
    /// </remarks>
    public TimeSpan? MayGuess(string network)
    {
        var beingLookedUp = LookUpsAtOnce - (_lookUps.GetStatistics(network)?.CurrentAvailablePermits ?? LookUpsAtOnce);
        return _wrong.GetStatistics(network)?.CurrentAvailablePermits >= Math.Max(1, beingLookedUp) ? null : Minute / WrongKeys;
    }

    public void CountWrong(string network) => _wrong.AttemptAcquire(network).Dispose();

    /// <summary>Acquires a lease for looking up a key, to be disposed. It is not acquired if too many requests are waiting.</summary>
    public ValueTask<RateLimitLease> LookUpAsync(string network, CancellationToken cancellationToken) =>
        _lookUps.AcquireAsync(network, 1, cancellationToken);

    public void Dispose()
    {
        _wrong.Dispose();
        _lookUps.Dispose();
    }

    /// <summary>Refills one permit at a time, evenly over the minute.</summary>
    private static TokenBucketRateLimiterOptions PerMinute(int permits, int burst) => new()
    {
        TokenLimit = burst,
        TokensPerPeriod = 1,
        ReplenishmentPeriod = Minute / permits,
        QueueLimit = 0,
    };
}
