namespace HibpIngest.Api.Endpoints;

internal sealed class LogoEndpoints(CatalogueReader catalogue, LogoReader logos) : IApiEndpoints
{
    private const string Extension = ".png";

    private static readonly ReadyContent Default = ReadDefault();

    public void Map(ApiRoutes routes) => routes.Get("/logos/{file}", RouteAccess.Open, LogoAsync)
        .Describe("A breach's logo, or ours if it has none: PNG", typeof(Stream), 404);

    private async Task<IResult> LogoAsync(HttpContext context, CancellationToken cancellationToken)
    {
        var file = ApiRoute.ParameterOf(context);
        if (!file.EndsWith(Extension, StringComparison.OrdinalIgnoreCase))
            return ErrorResponse.NotFound;
        var name = file[..^Extension.Length];
        // Only names of the catalogue reach the store, because no key is required.
        var logo = (await catalogue.GetAsync(cancellationToken)).Find(name) is { } breach
            ? await logos.FindAsync(breach.Model.Name, cancellationToken) ?? Default
            : name.Equals("default", StringComparison.OrdinalIgnoreCase) ? Default : null;
        return logo is null ? ErrorResponse.NotFound : new ReadyResponse(logo, "image/png");
    }

    private static ReadyContent ReadDefault()
    {
        using var stream = typeof(LogoEndpoints).Assembly.GetManifestResourceStream("default-logo.png")!;
        var bytes = new byte[stream.Length];
        stream.ReadExactly(bytes);
        return ReadyContent.OfImage(bytes);
    }
}
