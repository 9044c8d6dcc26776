using System.Security.Claims;
using System.Threading.RateLimiting;
using Microsoft.AspNetCore.Authentication;
using Microsoft.AspNetCore.Authorization;
using Microsoft.AspNetCore.Authorization.Policy;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.RateLimiting;
using Microsoft.Extensions.DependencyInjection;

namespace HibpIngest.Benchmarks.Peers;

/// <summary>
/// One endpoint that requires an API key, by the framework's middleware for authorization and rate limits with the least
/// around it: the evaluator of policies compares the key's hash with the only one there is, and each key has a token bucket.
/// </summary>
internal static class KeyedServer
{
    private const string Policy = "search";

    /// <param name="key">The only key that is accepted, in the header of Have I Been Pwned's API.</param>
    /// <param name="answer">Answers <c>GET /read/{account}</c>.</param>
    public static async Task<WebApplication> StartAsync(string key, RequestDelegate answer)
    {
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseKestrelCore().UseUrls("http://127.0.0.1:0");
        builder.Services.AddRoutingCore().AddAuthenticationCore()
            .AddAuthorization(options => options.AddPolicy(Policy, policy => policy.RequireClaim("scope", Policy)))
            .AddSingleton<IPolicyEvaluator>(new KeyEvaluator(key))
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

    private sealed class KeyEvaluator(string key) : IPolicyEvaluator
    {
        private static readonly Task<PolicyAuthorizationResult> Success = Task.FromResult(PolicyAuthorizationResult.Success());

        private readonly string _hash = HashOf(key);
        private readonly Task<AuthenticateResult> _known = Task.FromResult(AuthenticateResult.Success(new AuthenticationTicket(
            new ClaimsPrincipal(new ClaimsIdentity([new Claim(ClaimTypes.Name, "benchmark"), new Claim("scope", Policy)], "key")), "key")));

        public Task<AuthenticateResult> AuthenticateAsync(AuthorizationPolicy policy, HttpContext context)
        {
            if (context.Request.Headers["hibp-api-key"] is not [{ } given] || HashOf(given) != _hash)
                return Task.FromResult(AuthenticateResult.Fail("no key, or a wrong one"));
            context.User = _known.Result.Principal!;
            return _known;
        }

        public Task<PolicyAuthorizationResult> AuthorizeAsync(
            AuthorizationPolicy policy, AuthenticateResult authenticationResult, HttpContext context, object? resource) =>
            authenticationResult.Principal?.HasClaim("scope", Policy) == true ? Success
                : Task.FromResult(PolicyAuthorizationResult.Challenge());

        private static string HashOf(string key) => Convert.ToHexString(SHA256.HashData(Encoding.ASCII.GetBytes(key)));
    }
}
