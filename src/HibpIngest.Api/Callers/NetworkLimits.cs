using System.Threading.RateLimiting;
using Microsoft.AspNetCore.RateLimiting;

namespace HibpIngest.Api.Callers;

/// <summary>Limits on the requests that people's browsers send from one network. Per process: N processes allow N times as much.</summary>
internal static class NetworkLimits
{
    public const string Search = "search";

    /// <summary>Policy of requests that cause a mail.</summary>
    public const string Subscribe = "subscribe";

    public const int SearchesPerMinute = 30;
    public const int SearchesPerDay = 500;
    public const int SubscriptionsPerMinute = 10;

    public static void Add(RateLimiterOptions limits, int proxies)
    {
        limits.AddPolicy(Search, context => Partition(context, proxies, () => RateLimiter.CreateChained(
            Window(SearchesPerMinute, TimeSpan.FromMinutes(1)), Window(SearchesPerDay, TimeSpan.FromDays(1)))));
        limits.AddPolicy(
            Subscribe, context => Partition(context, proxies, () => Window(SubscriptionsPerMinute, TimeSpan.FromMinutes(1))));
    }

    private static RateLimitPartition<string> Partition(HttpContext context, int proxies, Func<RateLimiter> create) =>
        RateLimitPartition.Get(CallerAddress.NetworkOf(CallerAddress.Of(context, proxies)), _ => create());

    private static SlidingWindowRateLimiter Window(int permits, TimeSpan window) => new(new SlidingWindowRateLimiterOptions
    {
        PermitLimit = permits,
        Window = window,
        SegmentsPerWindow = 6,
        QueueLimit = 0,
    });
}
