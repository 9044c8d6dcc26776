using HibpIngest.Api.AccessLog.Requests;

namespace HibpIngest.Api.Endpoints;

/// <summary>Middleware before every endpoint: access log, headers of the kind of route, preflights, user agent.</summary>
internal sealed class RouteRules(RequestDelegate next, ApiOptions options)
{
    // Headers that clients send (github.com/wKovacs64/hibp#38 and others: a preflight that refuses one of them breaks the client).
    private const string AllowedHeaders = "user-agent, hibp-api-key, add-padding, if-none-match, cache-control, content-type, accept";
    private const string PreflightSeconds = "1728000";

    public Task InvokeAsync(HttpContext context)
    {
        if (ApiRoute.Of(context) is not { } route)
            return next(context);
        var (request, response) = (context.Request, context.Response);
        RequestEntry.Of(context)?.Gate(route);
        AddHeaders(response, route);
        if (HttpMethods.IsOptions(request.Method))
        {
            WritePreflight(response, route);
            return Task.CompletedTask;
        }
        if (HttpMethods.IsPost(request.Method) || HttpMethods.IsPut(request.Method))
            RequestBody.Allow(context);
        return route.NeedsUserAgent && UserAgent.Of(request).IsEmpty ? ErrorResponse.NoUserAgent.ExecuteAsync(context) : next(context);
    }

    private void AddHeaders(HttpResponse response, ApiRoute route)
    {
        var headers = response.Headers;
        headers.XContentTypeOptions = "nosniff";
        if (options.IsHttps || response.HttpContext.Request.IsHttps)
            headers.StrictTransportSecurity = "max-age=31536000; includeSubDomains";
        // The CORS middleware isn't used: it applies only to requests with an Origin, and this header must be in every cached response.
        if (route.IsForBrowsers)
            headers.AccessControlAllowOrigin = "*";
        else if (route.Access is RouteAccess.Page or RouteAccess.Form)
            PageHeaders.Add(headers);
        else if (route.Access != RouteAccess.Open)
            (headers.CacheControl, headers["Referrer-Policy"]) = ("no-store", "no-referrer");
    }

    private static void WritePreflight(HttpResponse response, ApiRoute route)
    {
        response.StatusCode = StatusCodes.Status204NoContent;
        response.Headers.Allow = string.Join(", ", route.Methods);
        if (!route.IsForBrowsers)
            return;
        response.Headers.AccessControlAllowMethods = response.Headers.Allow;
        response.Headers.AccessControlAllowHeaders = AllowedHeaders;
        response.Headers.AccessControlMaxAge = PreflightSeconds;
    }
}
