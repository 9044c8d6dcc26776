using System.Text.Encodings.Web;

namespace HibpIngest.Api.Endpoints;

internal sealed class DomainEndpoints(BreachedAccounts accounts, DomainSizes sizes, IOptions<WebOptions> options) : IApiEndpoints
{
    private const int FlushBytes = 32 * 1024;

    private static readonly JsonWriterOptions Unescaped =
        new() { Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping, SkipValidation = true };

    private static readonly ErrorResponse NoDomain = new(400, "The domain is expected to be one, as example.com");
    private static readonly ErrorResponse NotOwned = new(403, "The domain is not among those that your API key has been verified for");

    public void Map(ApiRoutes routes)
    {
        routes.Get("/api/v3/breacheddomain/{domain?}", RouteAccess.Key, BreachedDomainAsync)
            .Requires(KeyScopes.Domains)
            .Describe("All breached accounts of a verified domain", typeof(Dictionary<string, IReadOnlyList<string>>), 400, 404);
        routes.Get("/api/v3/subscribeddomains", RouteAccess.Key, SubscribedDomains)
            .Requires(KeyScopes.None).Describe("The domains that the key is verified for", typeof(IReadOnlyList<SubscribedDomain>));
    }

    /// <summary>
    /// Streams the accounts. An empty or too large domain is detected before the first byte; if a store fails later, the connection is
    /// aborted, so that the JSON stays incomplete.
    /// </summary>
    private async Task<IResult> BreachedDomainAsync(HttpContext context, CancellationToken cancellationToken)
    {
        if (!AccountRules.TryParseDomain(ApiRoute.ParameterOf(context), out var domain, out _))
            return NoDomain;
        if (!Caller.Of(context).Owns(domain))
            return NotOwned;
        if (await sizes.IsTooLargeAsync(domain, cancellationToken))
            return new ErrorResponse(
                403, $"Your plan is too small for this domain: it has more than {options.Value.DomainMax} breached accounts");
        await using var found = accounts.ReadDomainAsync(domain, cancellationToken).GetAsyncEnumerator(cancellationToken);
        if (!await found.MoveNextAsync())
            return ErrorResponse.NotFound;
        context.Response.ContentType = JsonResponse.ContentType;
        if (!HttpMethods.IsHead(context.Request.Method))
            await StreamAsync(context.Response, found, cancellationToken);
        return Results.Empty;
    }

    private static IResult SubscribedDomains(HttpContext context) => JsonResponse.Of(
        (Caller.Of(context).Key?.Domains ?? []).Select(domain => new SubscribedDomain(domain)),
        ApiJson.Documents.IEnumerableSubscribedDomain);

    private static async Task StreamAsync(
        HttpResponse response, IAsyncEnumerator<(string Alias, IReadOnlyList<PublishedBreach> Breaches)> found,
        CancellationToken cancellationToken)
    {
        var body = response.BodyWriter;
        using var writer = new Utf8JsonWriter(body, Unescaped);
        writer.WriteStartObject();
        do
        {
            writer.WriteStartArray(found.Current.Alias);
            foreach (var breach in found.Current.Breaches)
                writer.WriteStringValue(breach.Model.Name);
            writer.WriteEndArray();
            if (writer.BytesPending >= FlushBytes)
            {
                writer.Flush();
                await body.FlushAsync(cancellationToken);
            }
        }
        while (await found.MoveNextAsync());
        writer.WriteEndObject();
        writer.Flush();
        await body.FlushAsync(cancellationToken);
    }
}
