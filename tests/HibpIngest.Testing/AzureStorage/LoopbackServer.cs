using Microsoft.AspNetCore.Http;

namespace HibpIngest.Testing;

/// <summary>A server on loopback with responses chosen by the test, for faults that no real service produces on demand.</summary>
/// <param name="answer">Receives the request's context, its 0-based number and its body.</param>
internal sealed class LoopbackServer(Func<HttpContext, int, string, Task> answer) : LocalServer
{
    public const string Key = "c2VjcmV0LWtleS1tYXRlcmlhbC1vZi10ZXN0cw==";

    private readonly List<string> _requests = [];

    public string ConnectionString => $"AccountName=loopback;AccountKey={Key};"
        + $"BlobEndpoint={Address}/loopback;QueueEndpoint={Address}/loopback;TableEndpoint={Address}/loopback";

    /// <summary>Method, path and query, and body of each request so far.</summary>
    public IReadOnlyList<string> Requests
    {
        get
        {
            lock (_requests)
                return [.. _requests];
        }
    }

    public static Task<LoopbackServer> StartAsync(Func<HttpContext, int, string, Task> answer) => StartAsync(new LoopbackServer(answer));

    public static Task AcceptAsync(HttpContext context, string body) =>
        AcceptedTransaction.AnswerAsync(context, body.Split("PATCH http").Length - 1);

    /// <summary>Responds that a transaction failed at one of its operations.</summary>
    public static Task FailAsync(HttpContext context, int status, string code, int index, string text = "said the service")
    {
        context.Response.StatusCode = StatusCodes.Status202Accepted;
        context.Response.ContentType = "multipart/mixed; boundary=batchresponse_1";
        var error =
            $$$$"""{"odata.error":{"code":"{{{{code}}}}","message":{"lang":"en-US","value":"{{{{index}}}}:{{{{text}}}}\nRequestId:1"}}}""";
        return context.Response.WriteAsync(string.Create(
            CultureInfo.InvariantCulture,
            $"""
            --batchresponse_1
            Content-Type: multipart/mixed; boundary=changesetresponse_1

            --changesetresponse_1
            Content-Type: application/http
            Content-Transfer-Encoding: binary

            HTTP/1.1 {status} Whatever
            Content-Type: application/json;odata=minimalmetadata

            {error}

            --changesetresponse_1--
            --batchresponse_1--

            """).ReplaceLineEndings("\r\n"));
    }

    public static async Task JsonAsync(HttpContext context, int status, string json)
    {
        context.Response.StatusCode = status;
        context.Response.ContentType = "application/json";
        await context.Response.WriteAsync(json);
    }

    protected override async Task AnswerAsync(HttpContext context)
    {
        using var reader = new StreamReader(context.Request.Body, Encoding.UTF8);
        var body = await reader.ReadToEndAsync();
        int number;
        lock (_requests)
        {
            number = _requests.Count;
            _requests.Add($"{context.Request.Method} {context.Request.Path}{context.Request.QueryString}\n{body}");
        }
        await answer(context, number, body);
    }
}
