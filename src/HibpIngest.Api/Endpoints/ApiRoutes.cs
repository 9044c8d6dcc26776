using Microsoft.AspNetCore.Diagnostics.HealthChecks;
using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace HibpIngest.Api.Endpoints;

internal interface IApiEndpoints
{
    void Map(ApiRoutes routes);
}

internal sealed class ApiRoutes(IEndpointRouteBuilder endpoints)
{
    private readonly List<ApiRoute> _mapped = [];

    public RouteHandlerBuilder Map(string method, string template, RouteAccess access, Delegate handler)
    {
        var route = new ApiRoute(template, access, method == HttpMethods.Get ? [HttpMethods.Get, HttpMethods.Head] : [method]);
        // The compiler generates the binding of these types; that of any other type is compiled by each process at its first request. An
        // unused token selects the overload that writes the result, and not that for a RequestDelegate, which ignores it.
        return Add(route, handler switch
        {
            Func<HttpContext, CancellationToken, Task<IResult>> typed =>
                endpoints.MapMethods(template, route.Methods, (HttpContext context, CancellationToken aborted) => typed(context, aborted)),
            Func<HttpContext, Task<IResult>> typed =>
                endpoints.MapMethods(template, route.Methods, (HttpContext context, CancellationToken _) => typed(context)),
            Func<HttpContext, IResult> typed =>
                endpoints.MapMethods(template, route.Methods, (HttpContext context) => typed(context)),
            Func<HttpContext, CancellationToken, Task> typed =>
                endpoints.MapMethods(template, route.Methods, (HttpContext context, CancellationToken aborted) => typed(context, aborted)),
            Func<HttpContext, Task> typed =>
                endpoints.MapMethods(template, route.Methods, (HttpContext context, CancellationToken _) => typed(context)),
#pragma warning disable RDG002 // known to be compiled at run time
            _ => endpoints.MapMethods(template, route.Methods, handler),
#pragma warning restore RDG002
        });
    }

    public RouteHandlerBuilder Get(string template, RouteAccess access, Delegate handler) =>
        Map(HttpMethods.Get, template, access, handler);

    public IEndpointConventionBuilder Probe(string template, Func<HealthCheckRegistration, bool> isMade)
    {
        var route = new ApiRoute(template, RouteAccess.Open, [HttpMethods.Get, HttpMethods.Head]) { IsProbe = true };
        var options = new HealthCheckOptions
        {
            Predicate = isMade,
            AllowCachingResponses = true, // HealthResponse sets the cache headers
            ResponseWriter = (context, report) => HealthResponse.WriteAsync(context.Response, report.Status == HealthStatus.Healthy),
        };
        return Add(route, endpoints.MapHealthChecks(template, options))
            .WithMetadata(options.ResponseWriter.Method, new HttpMethodMetadata(route.Methods));
    }

    /// <summary>Maps OPTIONS for each template; <see cref="RouteRules"/> writes the response.</summary>
    public void MapOptions()
    {
        foreach (var routes in _mapped.GroupBy(route => route.Template).ToList())
        {
            var methods = routes.SelectMany(route => route.Methods).OrderBy(method => method == HttpMethods.Head);
            var route = routes.First() with { Methods = [.. methods, HttpMethods.Options] };
            endpoints.MapMethods(routes.Key, [HttpMethods.Options], _ => Task.CompletedTask)
                .WithMetadata(route).WithDisplayName(routes.Key).ExcludeFromDescription();
        }
    }

    private T Add<T>(ApiRoute route, T endpoint)
        where T : IEndpointConventionBuilder
    {
        _mapped.Add(route);
        return endpoint.WithMetadata(route).WithDisplayName(route.Template).WithTags(route.Tag)
            .WithName(route.Template.Split('/').Last(part => !part.StartsWith('{')));
    }
}

internal static class ApiRouteConventions
{
    public static RouteHandlerBuilder Requires(this RouteHandlerBuilder endpoint, KeyScopes scope) =>
        endpoint.RequireAuthorization(KeyPolicies.Of(scope)).RequireRateLimiting(RequestLimits.PolicyName);

    public static RouteHandlerBuilder With(this RouteHandlerBuilder endpoint, Func<ApiRoute, ApiRoute> change)
    {
        endpoint.Add(builder => builder.Metadata.Add(change(RouteOf(builder))));
        return endpoint;
    }

    /// <param name="responseType">The type of a 200 response. Null if it has no body or an empty document.</param>
    /// <param name="errors">The endpoint's own error statuses, in addition to those of its kind of route.</param>
    public static T Describe<T>(this T endpoint, string summary, Type? responseType, params int[] errors)
        where T : IEndpointConventionBuilder
    {
        endpoint.Add(builder =>
        {
            var route = RouteOf(builder);
            var contentType = "application/json";
            if (responseType == typeof(string))
                contentType = "text/plain";
            else if (responseType == typeof(Stream))
                contentType = "application/octet-stream";
            builder.Metadata.Add(
                new ProducesResponseTypeMetadata(200, responseType ?? typeof(void), responseType is null ? [] : [contentType]));
            foreach (var status in errors.Concat(route.Statuses()).Distinct())
            {
                builder.Metadata.Add(route.IsText(status)
                    ? new ProducesResponseTypeMetadata(status, typeof(string), ["text/plain"])
                    : new ProducesResponseTypeMetadata(status, typeof(ErrorDocument), ["application/json"]));
            }
        });
        return endpoint.WithSummary(summary);
    }

    private static ApiRoute RouteOf(EndpointBuilder builder) => builder.Metadata.OfType<ApiRoute>().Last();
}

/// <summary>The body that an endpoint takes. Not <c>Accepts</c>: routing would refuse another type before the key is checked.</summary>
internal sealed record RequestBodyMetadata(Type Type, string ContentType = "application/json");
