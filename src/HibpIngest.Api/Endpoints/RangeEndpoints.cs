namespace HibpIngest.Api.Endpoints;

internal sealed class RangeEndpoints(BreachedRanges ranges) : IApiEndpoints
{
    private static readonly ErrorResponse BadPrefix = new(400, "Invalid hex prefix");
    private static readonly ErrorResponse NoHashes = new(404, "There are no hashes beginning with that prefix");

    public void Map(ApiRoutes routes)
    {
        routes.Get("/api/v3/breachedaccount/range/{prefix?}", RouteAccess.KeyWithText, SearchAsync)
            .Requires(KeyScopes.Range).WithName("breachedaccountrange")
            .Describe("The accounts whose SHA-1 begins with six hex digits", typeof(IReadOnlyList<RangeDocument>), 400, 404);
        // Every response is JSON: clients parse it before they check the status.
        routes.Get("/enterprise/range/search/{prefix?}", RouteAccess.Enterprise, SearchAsync)
            .Requires(KeyScopes.Range)
            .Describe("The same for clients of the Enterprise API", typeof(IReadOnlyList<RangeDocument>), 400, 404);
    }

    private async Task<IResult> SearchAsync(HttpContext context, CancellationToken cancellationToken)
    {
        var prefix = ApiRoute.ParameterOf(context);
        if (prefix.Length != BreachedRanges.PrefixDigits || !prefix.All(char.IsAsciiHexDigit))
            return BadPrefix;
        var found = await ranges.FindAsync(prefix.ToUpperInvariant(), cancellationToken);
        return found.Count == 0 ? NoHashes : JsonResponse.Of(
            found.Select(one => new RangeDocument(one.Suffix, [.. one.Breaches.Select(breach => breach.Model.Name)])),
            ApiJson.Documents.IEnumerableRangeDocument);
    }
}
