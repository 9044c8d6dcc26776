using System.ComponentModel;

namespace HibpIngest.Api.Endpoints;

internal sealed class CatalogueEndpoints(CatalogueReader catalogue) : IApiEndpoints
{
    private static readonly ReadOnlyMemory<byte> Null = "null"u8.ToArray();

    public void Map(ApiRoutes routes)
    {
        routes.Get("/api/v3/breaches", RouteAccess.Catalogue, BreachesAsync)
            .Describe("All breaches", typeof(IReadOnlyList<PublicBreach>));
        routes.Get("/api/v3/breach/{name}", RouteAccess.Catalogue, BreachAsync)
            .Describe("One breach by its name", typeof(PublicBreach), 404);
        routes.Get("/api/v3/latestbreach", RouteAccess.Catalogue, LatestBreachAsync)
            .With(route => route with { IsCounted = true })
            .Describe("The breach that was added last", typeof(PublicBreach), 404);
        routes.Get("/api/v3/dataclasses", RouteAccess.Catalogue, DataClassesAsync)
            .Describe("All data classes", typeof(IReadOnlyList<string>));
    }

    private async Task<IResult> BreachesAsync(
        HttpContext context,
        [Description("Only those of the site at this domain")] string? domain,
        [Description("Only spam lists, or only others")] Flag? isSpamList,
        CancellationToken cancellationToken)
    {
        var snapshot = await catalogue.GetAsync(cancellationToken);
        var (site, wanted) = (RequestQuery.First(domain), isSpamList?.Value);
        if (string.IsNullOrEmpty(site) && wanted is null)
            return new ReadyResponse(snapshot.AllBreaches);
        context.Response.Headers.CacheControl = ReadyResponse.CacheControl;
        return new JsonArrayResponse(
            [.. snapshot.ByTitle
                .Where(breach => (string.IsNullOrEmpty(site) || breach.Model.Domain.Equals(site, StringComparison.OrdinalIgnoreCase))
                    && (wanted is null || breach.Model.IsSpamList == wanted))
                .Select(breach => breach.Json.Identity)]);
    }

    private async Task<IResult> BreachAsync(HttpContext context, CancellationToken cancellationToken) =>
        (await catalogue.GetAsync(cancellationToken)).Find(ApiRoute.ParameterOf(context)) is { } breach
            ? new ReadyResponse(breach.Json) : ErrorResponse.NotFound;

    private async Task<IResult> LatestBreachAsync(CancellationToken cancellationToken)
    {
        var latest = (await catalogue.GetAsync(cancellationToken)).Latest;
        return latest.Identity.Span.SequenceEqual(Null.Span) ? ErrorResponse.NotFound : new ReadyResponse(latest);
    }

    private async Task<IResult> DataClassesAsync(CancellationToken cancellationToken) =>
        new ReadyResponse((await catalogue.GetAsync(cancellationToken)).DataClasses);
}
