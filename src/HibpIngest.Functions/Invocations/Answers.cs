using HibpIngest.Errors;
using HibpIngest.Telemetry;

namespace HibpIngest.Functions;

/// <summary>
/// The answers to the host. Work that is durably done is 200 with a JSON object; anything else is 500 with one
/// line of text, which the host logs and tries again after. An empty 200, a 204 or a JSON null would keep the
/// host waiting until it kills this process, so every way out of a request leads through here.
/// </summary>
internal static partial class Answers
{
    private static readonly byte[] Done = """{"Outputs":{},"Logs":[],"ReturnValue":null}"""u8.ToArray();

    /// <summary>The outermost middleware: turns what went wrong, and a request that nothing answered, into a failure.</summary>
    public static async Task GuardAsync(HttpContext context, RequestDelegate next, ILogger log)
    {
        try
        {
            await next(context);
            if (!context.Response.HasStarted)
                await WriteFailureAsync(context, "nothing answered this request");
        }
        catch (Exception e)
        {
            var reason = Reason(e);
            LogFailed(
                log, context.GetEndpoint()?.DisplayName
                ?? "a request", e is HibpException or OperationCanceledException ? reason : UnexpectedError.Describe(e));
            if (context.Response.HasStarted)
                context.Abort(); // half an answer is none: a dropped connection is a failure to the host
            else
                await WriteFailureAsync(context, reason);
        }
    }

    /// <summary>The work is durably done.</summary>
    public static Task WriteDoneAsync(HttpResponse response) => WriteJsonAsync(response, Done);

    /// <summary>Sends JSON with the status that is set, 200 by default.</summary>
    public static async Task WriteJsonAsync(HttpResponse response, byte[] json)
    {
        response.ContentType = "application/json; charset=utf-8";
        response.ContentLength = json.Length;
        await response.Body.WriteAsync(json);
    }

    private static Task WriteFailureAsync(HttpContext context, string reason)
    {
        context.Response.Clear();
        context.Response.StatusCode = StatusCodes.Status500InternalServerError;
        context.Response.ContentType = "text/plain; charset=utf-8";
        return context.Response.WriteAsync(reason);
    }

    private static string Reason(Exception e) => e switch
    {
        HibpException => e.Message.ReplaceLineEndings(" "),
        OperationCanceledException => "stopped before its work was done; it is gone on with when the host tries again",
        _ => $"{UnexpectedError.Reason(e)}; the handler's log says where",
    };

    [LoggerMessage(EventIds.AnswersFailed, LogLevel.Error, "{Function} failed: {Reason}")]
    private static partial void LogFailed(ILogger log, string function, string reason);
}
