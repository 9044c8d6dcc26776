using System.Text.Encodings.Web;
using HibpIngest.Api.AccessLog.Requests;
using Microsoft.AspNetCore.Authentication;
using Microsoft.Extensions.Logging.Abstractions;
using Microsoft.Extensions.Primitives;

namespace HibpIngest.Api.Callers;

/// <summary>Looks up an uncached key at most as often as <see cref="RequestLimits"/> lets one network guess keys.</summary>
internal sealed class ApiKeyAuthentication(KeyCache keys, RequestLimits limits, ApiOptions options, TestAccounts? tests = null)
{
    public static ErrorResponse RefusalOf(HttpContext context) =>
        context.Items[typeof(ErrorResponse)] as ErrorResponse ?? ErrorResponse.NoKey;

    public Task<AuthenticateResult> AuthenticateAsync(HttpContext context)
    {
        var route = ApiRoute.Of(context)!;
        var isRequired = !options.IsOpen || route.Access == RouteAccess.Client;
        var given = KeysOf(context.Request.Headers, route.Access);
        if (given.Count == 0 || string.IsNullOrEmpty(given[0]))
            return isRequired ? Task.FromResult(Refuse(context, ErrorResponse.NoKey)) : Accept(context, Caller.Anybody);
        // A header that was sent twice arrives joined through some proxies: neither value is accepted.
        if (given.Count > 1 || !ApiKey.IsWellFormed(given[0]))
            return Task.FromResult(Refuse(context, ErrorResponse.MalformedKey));
        if (!isRequired || (route.TakesTestAccounts && tests is not null && TestAccounts.IsOne(ApiRoute.ParameterOf(context).Trim())))
            return Accept(context, Caller.Anybody);
        var hash = ApiKey.HashOf(given[0]);
        return keys.TryGet(hash, out var caller) && caller is not null
            ? Accept(context, caller) : ReadAsync(context, hash);
    }

    private static StringValues KeysOf(IHeaderDictionary headers, RouteAccess access)
    {
        if (access is RouteAccess.Client or RouteAccess.Enterprise)
            return headers[ApiKeyHandler.EnterpriseKeyHeader];
        var given = headers[ApiKeyHandler.KeyHeader];
        if (access != RouteAccess.Append
            || headers[ApiKeyHandler.SubscriptionKeyHeader] is not { Count: > 0 } other || string.IsNullOrEmpty(other[0]))
            return given;
        // Two different keys are refused.
        var isOne = given.Count == 0 || string.IsNullOrEmpty(given[0])
            || string.Equals(given.ToString(), other.ToString(), StringComparison.OrdinalIgnoreCase);
        return isOne ? other : StringValues.Concat(given, other);
    }

    private async Task<AuthenticateResult> ReadAsync(HttpContext context, string hash)
    {
        var network = CallerAddress.NetworkOf(CallerAddress.Of(context, options.Web.Proxies));
        using var turn = await limits.AcquireLookupAsync(network, context.RequestAborted);
        if (!turn.IsAcquired)
            return Refuse(context, ErrorResponse.TooMany(TimeSpan.FromSeconds(1)));
        if (limits.FindWait(network) is { } wait)
            return Refuse(context, ErrorResponse.TooMany(wait));
        if (!keys.TryGet(hash, out var caller))
            caller = await keys.ReadAsync(hash, context.RequestAborted);
        if (caller is not null)
            return await Accept(context, caller);
        limits.CountWrongKey(network);
        return Refuse(context, ErrorResponse.WrongKey);
    }

    private static Task<AuthenticateResult> Accept(HttpContext context, Caller caller)
    {
        context.User = caller;
        if (caller.Key is { } key)
            RequestEntry.Of(context)?.SetKey(key);
        return caller.Result;
    }

    private static AuthenticateResult Refuse(HttpContext context, ErrorResponse refusal)
    {
        context.Items[typeof(ErrorResponse)] = refusal;
        return AuthenticateResult.Fail(refusal.Message);
    }
}

internal sealed class ApiKeyHandler(IOptionsMonitor<AuthenticationSchemeOptions> schemes, ApiKeyAuthentication authentication)
    : AuthenticationHandler<AuthenticationSchemeOptions>(schemes, NullLoggerFactory.Instance, UrlEncoder.Default)
{
    public const string SchemeName = "ApiKey";
    public const string KeyHeader = "hibp-api-key";
    public const string EnterpriseKeyHeader = "Hibp-Enterprise-Api-Key";

    /// <summary>The key header of password senders, named as in Azure API Management.</summary>
    public const string SubscriptionKeyHeader = "Ocp-Apim-Subscription-Key";

    protected override Task<AuthenticateResult> HandleAuthenticateAsync() => authentication.AuthenticateAsync(Context);

    protected override Task HandleChallengeAsync(AuthenticationProperties properties) =>
        ApiKeyAuthentication.RefusalOf(Context).ExecuteAsync(Context);

    protected override Task HandleForbiddenAsync(AuthenticationProperties properties) => ErrorResponse.NotAllowed.ExecuteAsync(Context);
}
