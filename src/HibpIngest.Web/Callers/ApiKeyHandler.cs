using System.Text.Encodings.Web;
using HibpIngest.Stores;
using Microsoft.AspNetCore.Authentication;
using Microsoft.Extensions.Logging.Abstractions;
using Microsoft.Extensions.Options;
using Microsoft.Extensions.Primitives;

namespace HibpIngest.Web;

/// <summary>
/// Authenticates callers by their API key. A key that isn't known yet is looked up, at most as often as <see cref="RequestLimits"/> lets
/// one network guess keys.
/// </summary>
internal sealed class ApiKeyHandler(
    IOptionsMonitor<AuthenticationSchemeOptions> schemes, KeyCache keys, RequestLimits limits, ApiOptions options,
    TestAccounts? tests = null)
    : AuthenticationHandler<AuthenticationSchemeOptions>(schemes, NullLoggerFactory.Instance, UrlEncoder.Default)
{
    public const string SchemeName = "ApiKey";
    public const string KeyHeader = "hibp-api-key";
    public const string EnterpriseKeyHeader = "Hibp-Enterprise-Api-Key";

    /// <summary>The header of senders of passwords, as Azure's API Management takes it.</summary>
    public const string SubscriptionKeyHeader = "Ocp-Apim-Subscription-Key";

    private ErrorAnswer _refusal = ErrorAnswer.NoKey;

    protected override async Task<AuthenticateResult> HandleAuthenticateAsync()
    {
        var route = ApiRoute.Of(Context)!;
        var isRequired = !options.IsOpen || route.Access == RouteAccess.Client;
        var given = KeysOf(route.Access);
        if (given.Count == 0 || string.IsNullOrEmpty(given[0]))
            return isRequired ? Refuse(ErrorAnswer.NoKey) : Accept(Caller.Anybody);
        // A header sent twice comes joined through some proxies: neither of the two counts.
        if (given.Count > 1 || !ApiKey.IsWellFormed(given[0]))
            return Refuse(ErrorAnswer.MalformedKey);
        if (!isRequired || (route.TakesTestAccounts && tests is not null && TestAccounts.IsOne(ApiRoute.ParameterOf(Context).Trim())))
            return Accept(Caller.Anybody);
        var hash = ApiKey.HashOf(given[0]);
        return keys.TryGet(hash, out var caller) && caller is not null ? Accept(caller) : await ReadAsync(hash);
    }

    protected override Task HandleChallengeAsync(AuthenticationProperties properties) => _refusal.ExecuteAsync(Context);

    protected override Task HandleForbiddenAsync(AuthenticationProperties properties) => ErrorAnswer.NotAllowed.ExecuteAsync(Context);

    private StringValues KeysOf(RouteAccess access)
    {
        var headers = Request.Headers;
        if (access is RouteAccess.Client or RouteAccess.Enterprise)
            return headers[EnterpriseKeyHeader];
        var given = headers[KeyHeader];
        if (access != RouteAccess.Append || headers[SubscriptionKeyHeader] is not { Count: > 0 } other || string.IsNullOrEmpty(other[0]))
            return given;
        // Two keys that differ are none.
        var isOne = given.Count == 0 || string.IsNullOrEmpty(given[0])
            || string.Equals(given.ToString(), other.ToString(), StringComparison.OrdinalIgnoreCase);
        return isOne ? other : StringValues.Concat(given, other);
    }

    private async Task<AuthenticateResult> ReadAsync(string hash)
    {
        var network = CallerAddress.NetworkOf(CallerAddress.Of(Context, options.Web.Proxies));
        using var turn = await limits.LookUpAsync(network, Context.RequestAborted);
        if (!turn.IsAcquired)
            return Refuse(ErrorAnswer.TooMany(TimeSpan.FromSeconds(1)));
        if (limits.MayGuess(network) is { } wait)
            return Refuse(ErrorAnswer.TooMany(wait));
        if (!keys.TryGet(hash, out var caller))
            caller = await keys.ReadAsync(hash, Context.RequestAborted);
        if (caller is not null)
            return Accept(caller);
        limits.CountWrong(network);
        return Refuse(ErrorAnswer.WrongKey);
    }

    private AuthenticateResult Accept(Caller caller)
    {
        if (caller.Key is { } key)
            RequestEntry.Of(Context)?.SetKey(key);
        return AuthenticateResult.Success(new AuthenticationTicket(caller, SchemeName));
    }

    private AuthenticateResult Refuse(ErrorAnswer refusal)
    {
        _refusal = refusal;
        return AuthenticateResult.Fail(refusal.Message);
    }
}
