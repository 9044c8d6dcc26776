using System.Security.Claims;
using System.Text.Encodings.Web;
using System.Threading.RateLimiting;
using Microsoft.AspNetCore.Authentication;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.RateLimiting;
using Microsoft.AspNetCore.Routing;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;

namespace HibpIngest.Benchmarks.Peers;

/// <summary>
/// One endpoint that requires an API key, as the framework's documentation shows it: an authentication handler, a policy,
/// and a token bucket for each key. What these cost, no API that keeps to the framework can avoid.
/// </summary>
internal static class KeyedServer
{
    private const string Scheme = "key";
    private const string Policy = "search";

    /// <param name="key">The only key that is accepted, in the header of Have I Been Pwned's API.</param>
    /// <param name="answer">Answers <c>GET /read/{account}</c>.</param>
    public static async Task<WebApplication> StartAsync(string key, RequestDelegate answer)
    {
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseKestrelCore().UseUrls("http://127.0.0.1:0");
        builder.Services.AddAuthentication().AddScheme<AuthenticationSchemeOptions, KeyHandler>(Scheme, configureOptions: null);
        builder.Services.AddRoutingCore().AddSingleton(new KnownKeys(key)).AddAuthorization(options => options.AddPolicy(
                Policy, policy => policy.AddAuthenticationSchemes(Scheme).RequireClaim("scope", "search")))
            .AddRateLimiter(options => options.AddPolicy(Policy, context => RateLimitPartition.GetTokenBucketLimiter(
                context.User.Identity!.Name, _ => new TokenBucketRateLimiterOptions
                {
                    TokenLimit = 10_000_000,
                    TokensPerPeriod = 1_000,
                    ReplenishmentPeriod = TimeSpan.FromMilliseconds(1),
                })));
        var app = builder.Build();
        app.UseRouting().UseAuthorization().UseRateLimiter();
        app.MapGet("/read/{account}", answer).RequireAuthorization(Policy).RequireRateLimiting(Policy);
        await app.StartAsync();
        return app;
    }

    /// <summary>Tickets by the hash of their key: a server doesn't keep keys.</summary>
    private sealed class KnownKeys(string key)
    {
        private readonly Dictionary<string, AuthenticationTicket> _tickets = new()
        {
            [HashOf(key)] = new AuthenticationTicket(
                new ClaimsPrincipal(new ClaimsIdentity([new Claim(ClaimTypes.Name, "benchmark"), new Claim("scope", "search")], Scheme)),
                Scheme),
        };

        public AuthenticateResult Find(string given) => _tickets.TryGetValue(HashOf(given), out var ticket)
            ? AuthenticateResult.Success(ticket) : AuthenticateResult.Fail("wrong key");

        private static string HashOf(string key) => Convert.ToHexString(SHA256.HashData(Encoding.ASCII.GetBytes(key)));
    }

    private sealed class KeyHandler(
        IOptionsMonitor<AuthenticationSchemeOptions> options, ILoggerFactory logs, UrlEncoder encoder, KnownKeys keys)
        : AuthenticationHandler<AuthenticationSchemeOptions>(options, logs, encoder)
    {
        protected override Task<AuthenticateResult> HandleAuthenticateAsync() =>
            Task.FromResult(Request.Headers["hibp-api-key"] is [{ } given] ? keys.Find(given) : AuthenticateResult.NoResult());
    }
}
