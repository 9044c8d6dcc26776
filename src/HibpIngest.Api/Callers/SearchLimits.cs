using System.Threading.RateLimiting;

namespace HibpIngest.Api.Callers;

/// <summary>Limits of the search page's requests from one network. Per process: N processes allow N times as much.</summary>
internal static class SearchLimits
{
    public const string PolicyName = "search";

    public const int PerMinute = 30;
    public const int PerDay = 500;

    public static RateLimitPartition<string> PartitionOf(HttpContext context, int proxies) => RateLimitPartition.Get(
        CallerAddress.NetworkOf(CallerAddress.Of(context, proxies)),
        _ => RateLimiter.CreateChained(Window(PerMinute, TimeSpan.FromMinutes(1)), Window(PerDay, TimeSpan.FromDays(1))));

    private static SlidingWindowRateLimiter Window(int permits, TimeSpan window) => new(new SlidingWindowRateLimiterOptions
    {
        PermitLimit = permits,
        Window = window,
        SegmentsPerWindow = 6,
        QueueLimit = 0,
    });
}
