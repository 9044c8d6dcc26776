using System.Threading.RateLimiting;

namespace HibpIngest.Web;

/// <summary>
/// How often a key may ask, and how often a network may guess keys. Of this instance alone: N instances allow N times as much.
/// </summary>
internal sealed class RequestLimits : IDisposable
{
    /// <summary>The policy of the rate limiter for routes that take a key.</summary>
    public const string PolicyName = "key";

    /// <summary>Wrong keys a minute, of one network.</summary>
    public const int WrongKeys = 60;

    // A burst is what ten seconds refill.
    private const int BurstPart = 6;

    // Keys that are not known yet, looked up at once for one network: what may be guessed beyond the limit.
    private const int LookUpsAtOnce = 8;
    private const int LookUpsWaiting = 1_000;

    private static readonly TimeSpan Minute = TimeSpan.FromMinutes(1);

    private readonly PartitionedRateLimiter<string> _wrong = PartitionedRateLimiter.Create<string, string>(
        network => RateLimitPartition.GetTokenBucketLimiter(network, _ => PerMinute(WrongKeys, WrongKeys)));

    private readonly PartitionedRateLimiter<string> _lookUps = PartitionedRateLimiter.Create<string, string>(
        network => RateLimitPartition.GetConcurrencyLimiter(
            network, _ => new ConcurrencyLimiterOptions { PermitLimit = LookUpsAtOnce, QueueLimit = LookUpsWaiting }));

    /// <summary>Returns the bucket of the caller's key, which holds what its minute allows.</summary>
    public static RateLimitPartition<(string, int Rpm)> PartitionOf(HttpContext context) => Caller.Of(context).Key is { } key
        ? RateLimitPartition.GetTokenBucketLimiter(
            (key.Hash, key.Rpm), one => PerMinute(one.Rpm, Math.Max(1, one.Rpm / BurstPart)))
        : RateLimitPartition.GetNoLimiter(("", 0));

    public static TimeSpan RetryAfter(RateLimitLease lease) =>
        lease.TryGetMetadata(MetadataName.RetryAfter, out var wait) ? wait : TimeSpan.FromSeconds(1);

    /// <summary>
    /// Whether a network may still try keys that nobody knows, asked by one that has its turn. Null: it may; else in how long
    /// again.
    /// </summary>
    /// <remarks>
    /// Each that is being looked up may turn out wrong: there have to be permits for all of them. Not by acquiring none, which
    /// succeeds on the part of a permit that has been refilled already.
    /// </remarks>
    public TimeSpan? MayGuess(string network)
    {
        var beingLookedUp = LookUpsAtOnce - (_lookUps.GetStatistics(network)?.CurrentAvailablePermits ?? LookUpsAtOnce);
        return _wrong.GetStatistics(network)?.CurrentAvailablePermits >= Math.Max(1, beingLookedUp) ? null : Minute / WrongKeys;
    }

    public void CountWrong(string network) => _wrong.AttemptAcquire(network).Dispose();

    /// <summary>A turn for looking a key up, to be disposed of; not acquired where too many wait already.</summary>
    public ValueTask<RateLimitLease> LookUpAsync(string network, CancellationToken cancellationToken) =>
        _lookUps.AcquireAsync(network, 1, cancellationToken);

    public void Dispose()
    {
        _wrong.Dispose();
        _lookUps.Dispose();
    }

    /// <summary>Refilled one by one, all along the minute.</summary>
    private static TokenBucketRateLimiterOptions PerMinute(int permits, int burst) => new()
    {
        TokenLimit = burst,
        TokensPerPeriod = 1,
        ReplenishmentPeriod = Minute / permits,
        QueueLimit = 0,
    };
}
