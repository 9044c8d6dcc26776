using HibpIngest.Stores;

namespace HibpIngest.Web;

/// <summary>Who asks, and whether it may: by its key, its key's scopes and its limits.</summary>
internal sealed class CallerCheck(KeyCache keys, RequestLimits limits, ApiOptions options)
{
    public const string KeyHeader = "hibp-api-key";
    public const string EnterpriseKeyHeader = "Hibp-Enterprise-Api-Key";

    /// <summary>Where senders of passwords have theirs, as Azure's API Management takes it.</summary>
    public const string SubscriptionKeyHeader = "Ocp-Apim-Subscription-Key";

    /// <summary>
    /// Finds the caller of a route that needs a key. Not null: why it is refused. The scope is looked at
    /// before the limit, so that what is refused anyway costs nothing of it.
    /// </summary>
    public async ValueTask<(Caller Caller, ErrorAnswer? Refusal)> CheckAsync(HttpContext context, WebRoute route)
    {
        var isClient = route.Access == RouteAccess.Client;
        var needsNone = options.IsOpen && !isClient;
        var given = context.Request.Headers[isClient || route.Access == RouteAccess.Enterprise ? EnterpriseKeyHeader : KeyHeader];
        // Two keys that differ are none.
        if (route.Access == RouteAccess.Append
            && context.Request.Headers[SubscriptionKeyHeader] is { Count: > 0 } other && !string.IsNullOrEmpty(other[0]))
        {
            if (given.Count > 0 && !string.IsNullOrEmpty(given[0])
                && !string.Equals(given.ToString(), other.ToString(), StringComparison.OrdinalIgnoreCase))
                return (Caller.Anybody, ErrorAnswer.MalformedKey);
            given = other;
        }
        if (given.Count == 0 || string.IsNullOrEmpty(given[0]))
            return (Caller.Anybody, needsNone ? null : ErrorAnswer.NoKey);
        // A header sent twice comes joined through some proxies: neither of the two counts.
        if (given.Count > 1 || !ApiKey.IsWellFormed(given[0]))
            return (Caller.Anybody, ErrorAnswer.MalformedKey);
        if (needsNone)
            return (Caller.Anybody, null);

        var (key, refusal) = await FindAsync(context, ApiKey.HashOf(given[0]));
        if (key is null)
            return (Caller.Anybody, refusal);
        if (!key.Scopes.HasFlag(route.Scope) || (isClient && key.Client is null))
            return (new Caller(key), ErrorAnswer.NotAllowed);
        return (new Caller(key), limits.Take(key) is { } wait ? ErrorAnswer.TooMany(wait) : null);
    }

    private ValueTask<(ApiKey? Key, ErrorAnswer? Refusal)> FindAsync(HttpContext context, string hash) =>
        keys.TryGet(hash, out var key) && key is not null ? new((key, null)) : ReadAsync(context, hash);

    private async ValueTask<(ApiKey? Key, ErrorAnswer? Refusal)> ReadAsync(HttpContext context, string hash)
    {
        var network = CallerAddress.NetworkOf(CallerAddress.Of(context, options.Web.Proxies));
        using var turn = await limits.LookUpAsync(network, context.RequestAborted);
        if (!turn.IsAcquired)
            return (null, ErrorAnswer.TooMany(TimeSpan.FromSeconds(1)));
        if (limits.MayGuess(network) is { } wait)
            return (null, ErrorAnswer.TooMany(wait));
        if (!keys.TryGet(hash, out var key))
            key = await keys.ReadAsync(hash, context.RequestAborted);
        if (key is not null)
            return (key, null);
        limits.CountWrong(network);
        return (null, ErrorAnswer.WrongKey);
    }
}
