using HibpIngest.Api.Lookup;

namespace HibpIngest.Api.Endpoints;

/// <summary>Serves the OpenAPI document. Not <c>MapOpenApi</c>, which generates the document for each request, without an ETag.</summary>
internal sealed class OpenApiEndpoint(IServiceProvider services) : IApiEndpoints
{
    private ReadyContent? _document;

    public void Map(ApiRoutes routes) => routes.Get(OpenApiDocuments.Route, RouteAccess.Open, DocumentAsync)
        .Describe("This document", typeof(object));

    private async Task<IResult> DocumentAsync() => new ReadyResponse(_document ??= await OpenApiDocuments.CreateAsync(services));
}
