using HibpIngest.Api.AccessLog;
using HibpIngest.Api.AccessLog.Requests;
using HibpIngest.Api.Pages;
using Microsoft.AspNetCore.Http.Features;

namespace HibpIngest.Api;

/// <summary>The outermost middleware. Logs and metrics name the route's template, never a path, query, header or address.</summary>
internal sealed partial class WebGuard(
    RequestDelegate next, ApiOptions options, TimeProvider time, ILogger<WebGuard> log, RequestLog? requests = null,
    PageRenderer? pages = null)
{
    // A store that is down fails every request: one line in this time is enough.
    private static readonly TimeSpan LogInterval = TimeSpan.FromSeconds(10);

    private static readonly ErrorResponse NotOpenTo = new(
        403, "This server requires no API key, and so accepts only direct requests from its own machine");

    private long _loggedAt;

    public async Task InvokeAsync(HttpContext context)
    {
        var started = time.GetTimestamp();
        var entry = requests?.Begin(context, started);
        // Most routes don't read a body, and an unread body ends the connection. The client must be told: a proxy that shares connections
        // between clients would otherwise lose the response to the next one.
        if (context.Features.Get<IHttpRequestBodyDetectionFeature>() is { CanHaveBody: true })
            context.Response.OnStarting(() =>
            {
                if (!RequestBody.WasRead(context))
                    context.Response.Headers.Connection = "close";
                return Task.CompletedTask;
            });
        try
        {
            if (options.IsOpen && !LocalRequests.IsDirect(context.Request))
            {
                await NotOpenTo.ExecuteAsync(context);
                return;
            }
            if (RequestTarget.Of(context).Path is { } path)
                context.Request.Path = path;
            await next(context);
            if (!context.Response.HasStarted && context.Response is { StatusCode: 404 or 405, ContentLength: null }
                && ApiRoute.Of(context) is null)
            {
                entry?.Gate(null);
                if (pages is not null && IsForPerson(context))
                    await pages.WriteAsync<NotFoundPage>(context, [], StatusCodes.Status404NotFound);
                else
                {
                    await new ErrorResponse(context.Response.StatusCode, context.Response.StatusCode == 405
                        ? OtherMethods(context.Response) : ErrorResponse.NoSuchRoute.Message).ExecuteAsync(context);
                }
            }
            if (entry is not null)
                await entry.PassAsync(); // for a response without a body
        }
        catch (OperationCanceledException) when (context.RequestAborted.IsCancellationRequested)
        {
            // The client has disconnected.
        }
        catch (Exception e)
        {
            try
            {
                await FailAsync(context, e);
            }
            catch (AccessLogDownException down)
            {
                await FailAsync(context, down);
            }
        }
        finally
        {
            entry?.End();
            if (HibpTelemetry.WatchesWeb)
                HibpTelemetry.WebAnswered(TemplateOf(context), context.Response.StatusCode, time.GetElapsedTime(started));
        }
    }

    private static bool IsForPerson(HttpContext context) => context.Response.StatusCode == 404
        && context.Request.Headers.Accept.ToString().Contains("text/html", StringComparison.OrdinalIgnoreCase);

    private static string OtherMethods(HttpResponse response)
    {
        var allowed = response.Headers.Allow.ToString()
            .Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries).Where(one => !HttpMethods.IsOptions(one));
        return $"This address accepts {string.Join(", ", allowed)} and {HttpMethods.Options}";
    }

    private async Task FailAsync(HttpContext context, Exception error)
    {
        var response = error switch
        {
            BadHttpRequestException bad => new ErrorResponse(bad.StatusCode, "The request is malformed, or too large"),
            RangesNotReadyException => ErrorResponse.Unavailable with { Message = "Ranges are not available yet" },
            AccessLogDownException => ErrorResponse.Unavailable with
            {
                RetryAfterSeconds = (int)AccessLogDownException.RetryAfter.TotalSeconds,
            },
            HibpException => ErrorResponse.Unavailable,
            _ => ErrorResponse.Unexpected,
        };
        if (response.StatusCode >= 500 && IsTimeToLog())
            LogFailed(TemplateOf(context), response.StatusCode, error is HibpException ? error.Message : UnexpectedError.Describe(error));
        if (context.Response.HasStarted)
        {
            context.Abort(); // a truncated response must not look complete
            return;
        }
        // Without this header a browser hides the error from a page of another site.
        var origin = context.Response.Headers.AccessControlAllowOrigin;
        context.Response.Clear();
        context.Response.Headers.AccessControlAllowOrigin = origin;
        context.Response.Headers.XContentTypeOptions = "nosniff";
        if (response == ErrorResponse.Unexpected && ApiRoute.Of(context)?.Access == RouteAccess.Append)
            response = response with { Message = "An error occurred." };
        await (ApiRoute.IsForm(context) && pages is not null && response.StatusCode == StatusCodes.Status503ServiceUnavailable
            ? NoticePage.WriteAsync(context, pages, Notice.Unavailable) : response.ExecuteAsync(context));
    }

    private bool IsTimeToLog()
    {
        var last = Volatile.Read(ref _loggedAt);
        return (last == 0 || time.GetElapsedTime(last) >= LogInterval)
            && Interlocked.CompareExchange(ref _loggedAt, time.GetTimestamp(), last) == last;
    }

    private static string TemplateOf(HttpContext context) => ApiRoute.Of(context)?.Template ?? RequestLog.NoRoute;

    [LoggerMessage(EventIds.WebServerFailed, LogLevel.Error, "{Route}: {Status}: {Reason}")]
    private partial void LogFailed(string route, int status, string reason);
}
