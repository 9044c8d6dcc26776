using Microsoft.Net.Http.Headers;

namespace HibpIngest.Api.Requests;

/// <summary>Limits the number of long bodies in memory. Further requests wait up to <see cref="MaxWait"/>.</summary>
/// <param name="activity">Completes the error message: "Other clients are submitting passwords at present".</param>
internal sealed class BodyLimiter(int maxConcurrency, string activity, TimeProvider time) : IDisposable
{
    public static readonly TimeSpan MaxWait = TimeSpan.FromSeconds(5);

    private static readonly ErrorResponse Encoded = new(415, "Send the body without Content-Encoding: no encoding is accepted");

    private readonly ErrorResponse _tooMany =
        new(503, $"Other clients are {activity} at present; try again in a moment") { RetryAfterSeconds = (int)MaxWait.TotalSeconds };
    private readonly SemaphoreSlim _slots = new(maxConcurrency);

    /// <summary>Checks a request before any of its body is read.</summary>
    public static ErrorResponse? Refuse(HttpRequest request, string contentType, int maxBytes)
    {
        if (request.ContentType?.StartsWith(contentType, StringComparison.OrdinalIgnoreCase) != true)
            return new ErrorResponse(400, $"Content-Type must be {contentType}");
        var encoding = request.Headers[HeaderNames.ContentEncoding].ToString();
        if (encoding.Length > 0 && !encoding.Equals("identity", StringComparison.OrdinalIgnoreCase))
            return Encoded;
        return RequestBody.IsLonger(request, maxBytes) ? TooLong(maxBytes) : null;
    }

    public static ErrorResponse TooLong(int maxBytes) =>
        new(413, string.Create(CultureInfo.InvariantCulture, $"The body must have at most {maxBytes} bytes: send it in several parts"));

    /// <summary>Reads a short JSON body, which doesn't count towards the limit.</summary>
    public static async Task<ErrorResponse?> ReadShortAsync(
        HttpContext context, int maxBytes, TimeProvider time, Func<ReadOnlySpan<byte>, ErrorResponse?> read)
    {
        if (Refuse(context.Request, "application/json", maxBytes) is { } refusal)
            return refusal;
        using var body = await RequestBody.ReadAsync(context, maxBytes, time);
        return body is null ? TooLong(maxBytes) : read(body.Bytes);
    }

    public Task<IResult> RunAsync(HttpContext context, int maxBytes, Func<RequestBody, Task<IResult>> run) => RunAsync(
        context, async () =>
        {
            using var body = await RequestBody.ReadAsync(context, maxBytes, time);
            return body is null ? TooLong(maxBytes) : await run(body);
        });

    /// <summary>Runs a handler that needs as much memory as a long body.</summary>
    public async Task<IResult> RunAsync(HttpContext context, Func<Task<IResult>> run)
    {
        if (!await _slots.WaitAsync(MaxWait, context.RequestAborted))
            return _tooMany;
        try
        {
            return await run();
        }
        finally
        {
            _slots.Release();
        }
    }

    public void Dispose() => _slots.Dispose();
}
