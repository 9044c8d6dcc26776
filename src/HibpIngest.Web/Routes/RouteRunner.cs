using HibpIngest.Telemetry;

namespace HibpIngest.Web;

/// <summary>What comes before every answer: who asks, and what its headers say.</summary>
internal sealed class RouteRunner(CallerCheck callers, ApiOptions options, TestAccounts? tests = null)
{
    // What clients send (github.com/wKovacs64/hibp#38 and others: a preflight that refuses one breaks them all).
    private const string AllowedHeaders = "user-agent, hibp-api-key, add-padding, if-none-match, cache-control, content-type, accept";
    private const string PreflightSeconds = "1728000";

    /// <summary>Answers a request of a route.</summary>
    public async Task RunAsync(HttpContext context, WebRoute route)
    {
        var (request, response) = (context.Request, context.Response);
        var entry = RequestEntry.Of(context);
        entry?.Gate(route);
        AddHeaders(response, route.Access);
        if (HttpMethods.IsOptions(request.Method))
        {
            WritePreflight(response, route);
            return;
        }
        if (HttpMethods.IsPost(request.Method) || HttpMethods.IsPut(request.Method))
            RequestBody.Allow(context);
        if (route.Access is RouteAccess.Catalogue or RouteAccess.Key or RouteAccess.KeyWithText && UserAgent.Of(request).IsEmpty)
        {
            await (ErrorAnswer.NoUserAgent with { AsText = route.Access == RouteAccess.KeyWithText }).WriteAsync(response);
            return;
        }
        var parameter = RequestTarget.Of(context)[route.ParameterAt];
        var caller = Caller.Anybody;
        var isTest = route.TakesTestAccounts && tests?.IsAsked(context, parameter) == true;
        if (route.TakesKey && !isTest)
        {
            (caller, var refusal) = await callers.CheckAsync(context, route);
            if (caller.Key is { } key)
                entry?.SetKey(key);
            if (refusal is not null)
            {
                await (refusal.StatusCode == 403 && route.Access == RouteAccess.KeyWithText ? refusal with { AsText = true } : refusal)
                    .WriteAsync(response);
                return;
            }
        }
        await route.Answer(new WebCall(context, parameter, caller));
    }

    private void AddHeaders(HttpResponse response, RouteAccess access)
    {
        var headers = response.Headers;
        headers.XContentTypeOptions = "nosniff";
        if (options.IsHttps || response.HttpContext.Request.IsHttps)
            headers.StrictTransportSecurity = "max-age=31536000; includeSubDomains";
        if (access is RouteAccess.Catalogue or RouteAccess.Passwords)
            headers.AccessControlAllowOrigin = "*";
        else if (access != RouteAccess.Open)
            (headers.CacheControl, headers["Referrer-Policy"]) = ("no-store", "no-referrer");
    }

    private static void WritePreflight(HttpResponse response, WebRoute route)
    {
        response.StatusCode = StatusCodes.Status204NoContent;
        response.Headers.Allow = string.Join(", ", route.Methods);
        if (route.Access is not (RouteAccess.Catalogue or RouteAccess.Passwords))
            return;
        response.Headers.AccessControlAllowMethods = response.Headers.Allow;
        response.Headers.AccessControlAllowHeaders = AllowedHeaders;
        response.Headers.AccessControlMaxAge = PreflightSeconds;
    }
}
