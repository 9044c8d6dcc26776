using System.ComponentModel;

namespace HibpIngest.Api.Endpoints;

internal sealed class AccountEndpoints(BreachedAccounts accounts, TestAccounts? tests = null) : IApiEndpoints
{
    // RFC 5321, 4.5.3.1: 64 before the @, 255 after it.
    private const int MaxCharacters = 320;

    private static readonly ErrorResponse NoAccount = new(
        400, $"The account is expected to be an email address: one @, no control characters, at most {MaxCharacters} characters");

    public void Map(ApiRoutes routes)
    {
        routes.Get("/api/v3/breachedaccount/{account?}", RouteAccess.Key, BreachedAccountAsync)
            .Requires(KeyScopes.Search).With(route => route with { TakesTestAccounts = true })
            .Describe("All breaches of an account, except sensitive and retired ones", typeof(IReadOnlyList<PublicBreach>), 400, 404);
        routes.Get("/api/v3/pasteaccount/{account?}", RouteAccess.Key, PasteAccount)
            .Requires(KeyScopes.Search).With(route => route with { TakesTestAccounts = true })
            .Describe("All pastes of an account: none are kept here", typeof(IReadOnlyList<PasteDocument>), 400, 404);
    }

    private async Task<IResult> BreachedAccountAsync(
        HttpContext context,
        [Description("Names only; true by default")] Flag? truncateResponse,
        [Description("Only breaches of the site at this domain")] string? domain,
        [Description("Unverified breaches too; true by default")] Flag? includeUnverified)
    {
        var account = ApiRoute.ParameterOf(context).Trim();
        if (!IsPlausible(account))
            return NoAccount;
        IReadOnlyList<PublishedBreach> found = [];
        if (tests?.Find(account) is { } test)
            found = test;
        else if (AccountRules.TryParse(account, out var parsed, out _))
            found = await accounts.FindAsync(parsed, CancellationToken.None); // too short to be worth observing aborts
        if (RequestQuery.First(domain) is { Length: > 0 } site)
            found = [.. found.Where(breach => breach.Model.Domain.Equals(site, StringComparison.OrdinalIgnoreCase))];
        if (includeUnverified?.Value == false)
            found = [.. found.Where(breach => breach.Model.IsVerified)];
        return found.Count == 0 ? ErrorResponse.NotFound : new JsonArrayResponse(
            [.. found.Select(breach => truncateResponse?.Value == false ? breach.Json.Identity : breach.NameJson)]);
    }

    /// <summary>A client that requests breaches and pastes treats a 404 as "none", and any other error as a failure.</summary>
    private static IResult PasteAccount(HttpContext context) =>
        IsPlausible(ApiRoute.ParameterOf(context).Trim()) ? ErrorResponse.NotFound : NoAccount;

    private static bool IsPlausible(string account)
    {
        var at = account.IndexOf('@', StringComparison.Ordinal);
        return at >= 0 && account.IndexOf('@', at + 1) < 0 && account.Length <= MaxCharacters && !account.Any(char.IsControl);
    }
}
