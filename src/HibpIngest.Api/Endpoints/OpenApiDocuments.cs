using Microsoft.AspNetCore.OpenApi;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.OpenApi;

namespace HibpIngest.Api.Endpoints;

internal static class OpenApiDocuments
{
    public const string Route = "/openapi/v3.json";

    private const string Document = "v3";

    /// <param name="address">The public address (HIBP_WEB_URL).</param>
    public static void Add(IServiceCollection services, string address)
    {
        services.ConfigureHttpJsonOptions(json => json.SerializerOptions.PropertyNamingPolicy = null);
        services.AddOpenApi(Document, options =>
        {
            options.OpenApiVersion = OpenApiSpecVersion.OpenApi3_0;
            options.ShouldInclude = endpoint => endpoint.HttpMethod != HttpMethods.Head
                && endpoint.ActionDescriptor.EndpointMetadata.OfType<ApiRoute>().Any();
            options.AddOperationTransformer(DescribeAsync);
            options.AddDocumentTransformer((document, _, _) =>
            {
                document.Info = new OpenApiInfo
                {
                    Title = "Breach notification service",
                    Version = "3",
                    Description = "The API of haveibeenpwned.com, version 3, as far as it is served here; docs/api.md says where it "
                        + "differs.",
                };
                document.Servers = [new OpenApiServer { Url = address }];
                foreach (var header in (string[])
                    [ApiKeyHandler.KeyHeader, ApiKeyHandler.EnterpriseKeyHeader, ApiKeyHandler.SubscriptionKeyHeader])
                {
                    document.AddComponent<IOpenApiSecurityScheme>(header, new OpenApiSecurityScheme
                    {
                        Type = SecuritySchemeType.ApiKey,
                        In = ParameterLocation.Header,
                        Name = header,
                        Description = "32 hex digits",
                    });
                }
                return Task.CompletedTask;
            });
        });
    }

    /// <summary>Generates the document. It is the same for every caller, so that once is enough.</summary>
    public static async Task<ReadyContent> CreateAsync(IServiceProvider services)
    {
        var provider = services.GetRequiredKeyedService<IOpenApiDocumentProvider>(Document);
        var document = await provider.GetOpenApiDocumentAsync();
        return ReadyContent.Of(System.Text.Encoding.UTF8.GetBytes(await document.SerializeAsJsonAsync(OpenApiSpecVersion.OpenApi3_0)));
    }

    private static async Task DescribeAsync(
        OpenApiOperation operation, OpenApiOperationTransformerContext context, CancellationToken cancellationToken)
    {
        var metadata = context.Description.ActionDescriptor.EndpointMetadata;
        var route = metadata.OfType<ApiRoute>().Last();
        operation.Parameters ??= [];
        foreach (var flag in context.Description.ParameterDescriptions)
        {
            if (flag.ParameterDescriptor?.ParameterType != typeof(Flag?))
                continue;
            var parameter = (OpenApiParameter)operation.Parameters.Single(one => one.Name == flag.Name);
            parameter.Schema = new OpenApiSchema { Type = JsonSchemaType.Boolean };
        }
        if (route.Template.IndexOf('{', StringComparison.Ordinal) is > 0 and var open)
            operation.Parameters.Insert(0, Parameter(route.Template[(open + 1)..].TrimEnd('?', '}'), ParameterLocation.Path, true, null));
        if (route.NeedsUserAgent)
            operation.Parameters.Add(Parameter("user-agent", ParameterLocation.Header, true, "The client's name; any text"));
        if (route.Template.StartsWith("/range/", StringComparison.Ordinal))
            operation.Parameters.Add(Parameter(
                PasswordEndpoints.PaddingHeader, ParameterLocation.Header, false, "true: rows with the count 0 follow the others"));
        operation.Security = [.. KeyHeaders(route.Access).Select(header => new OpenApiSecurityRequirement
        {
            [new OpenApiSecuritySchemeReference(header, context.Document)] = [],
        })];
        if (metadata.OfType<RequestBodyMetadata>().LastOrDefault() is { } body)
        {
            var schema = await context.GetOrCreateSchemaAsync(body.Type, null, cancellationToken);
            operation.RequestBody = new OpenApiRequestBody
            {
                Required = true,
                Content = new Dictionary<string, OpenApiMediaType> { [body.ContentType] = new() { Schema = schema } },
            };
        }
        foreach (var (status, response) in operation.Responses ?? [])
            response.Description = Reason(status) ?? response.Description;
    }

    private static IReadOnlyList<string> KeyHeaders(RouteAccess access) => access switch
    {
        RouteAccess.Key or RouteAccess.KeyWithText => [ApiKeyHandler.KeyHeader],
        RouteAccess.Enterprise or RouteAccess.Client => [ApiKeyHandler.EnterpriseKeyHeader],
        RouteAccess.Append => [ApiKeyHandler.SubscriptionKeyHeader, ApiKeyHandler.KeyHeader],
        _ => [],
    };

    private static OpenApiParameter Parameter(string name, ParameterLocation place, bool isRequired, string? description) => new()
    {
        Name = name,
        In = place,
        Required = isRequired,
        Description = description,
        Schema = new OpenApiSchema { Type = JsonSchemaType.String },
    };

    private static string? Reason(string status) => status switch
    {
        "400" => "The request is malformed",
        "401" => "No key, or a wrong one",
        "403" => "No user agent, or a key that does not allow this",
        "404" => "Nothing found",
        "409" => "Another request is confirming it; try again",
        "412" => "There is another version by now",
        "413" => "More than one request may hold",
        "415" => "The body is compressed",
        "429" => "Too many requests; Retry-After says when to try again",
        "503" => "A store is unavailable",
        _ => null,
    };
}

/// <summary>Serves the OpenAPI document. Not <c>MapOpenApi</c>, which generates the document for each request, without an ETag.</summary>
internal sealed class OpenApiEndpoint(IServiceProvider services) : IApiEndpoints
{
    private ReadyContent? _document;

    public void Map(ApiRoutes routes) => routes.Get(OpenApiDocuments.Route, RouteAccess.Open, DocumentAsync)
        .Describe("This document", typeof(object));

    private async Task<IResult> DocumentAsync() => new ReadyResponse(_document ??= await OpenApiDocuments.CreateAsync(services));
}
