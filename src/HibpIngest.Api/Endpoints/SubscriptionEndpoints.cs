namespace HibpIngest.Api.Endpoints;

internal sealed class SubscriptionEndpoints(IOptions<WebOptions> options) : IApiEndpoints
{
    // Keys don't expire.
    private static readonly DateTime Never = new(9999, 12, 31, 23, 59, 59, DateTimeKind.Utc);

    private static readonly ErrorResponse None = new(404, "No active subscription found.");

    public void Map(ApiRoutes routes)
    {
        routes.Get("/api/v3/subscription/status", RouteAccess.Key, Status)
            .Requires(KeyScopes.None).Describe("What the key allows", typeof(SubscriptionStatus), 404);
        // Stealer logs are not stored separately, so no key gives access to them.
        foreach (var template in (string[])["email/{account?}", "websitedomain/{domain?}", "emaildomain/{domain?}"])
            routes.Get($"/api/v3/stealerlogsby{template}", RouteAccess.Key, () => ErrorResponse.NotAllowed)
                .Requires(KeyScopes.None).Describe("Stealer logs: none are kept here", typeof(IReadOnlyList<string>));
    }

    private IResult Status(HttpContext context) => Caller.Of(context).Key is not { } key ? None : JsonResponse.Of(
        new SubscriptionStatus(
            key.Name, $"{key.Rpm} requests a minute", Never, key.Rpm, key.Scopes.HasFlag(KeyScopes.Domains) ? options.Value.DomainMax : 0,
            key.Domains.Count, IncludesStealerLogs: false, IncludesBulkDomainAdd: false, IncludesAutoSubdomainVerification: false,
            IncludesCustomerDomains: false, IncludesKAnon: key.Scopes.HasFlag(KeyScopes.Range)),
        ApiJson.Documents.SubscriptionStatus);
}
