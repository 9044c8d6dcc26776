namespace HibpIngest.Api.Responses;

/// <summary>
/// An error in the format of Have I Been Pwned's API: <c>{"statusCode":401,"message":"..."}</c>, in this order, or plain text if
/// <see cref="ApiRoute.IsText"/> says so. Not cacheable.
/// </summary>
/// <param name="Message">For the client's developer, in ASCII; never contains a part of the request.</param>
public sealed record ErrorResponse(int StatusCode, string Message) : IResult
{
    internal static readonly ErrorResponse NoUserAgent = new(403, "API request must include a user agent");
    internal static readonly ErrorResponse NoKey = new(401, "Access denied due to missing hibp-api-key.");
    internal static readonly ErrorResponse MalformedKey = new(401, "Access denied due to improperly formed hibp-api-key.");
    internal static readonly ErrorResponse WrongKey = new(401, "Access denied due to invalid hibp-api-key.");
    internal static readonly ErrorResponse NotAllowed = new(403, "Your HIBP API key does not have access to this resource");
    internal static readonly ErrorResponse NotFound = new(404, "Not found");
    internal static readonly ErrorResponse NoSuchRoute = new(404, "Unknown route; GET /openapi/v3.json lists the routes");
    internal static readonly ErrorResponse Unavailable = new(503, "The service is temporarily unavailable; try again in a moment");
    internal static readonly ErrorResponse Unexpected = new(
        500, "Internal server error; try again, and contact the operator if it persists");

    /// <summary>Whole seconds after which the client may try again. If 0, no Retry-After is sent.</summary>
    public int RetryAfterSeconds { get; init; }

    /// <summary>Returns the error for a request above a rate limit. Seconds are rounded up, since clients parse whole seconds.</summary>
    public static ErrorResponse TooMany(TimeSpan retryAfter)
    {
        var seconds = Math.Max(1, (int)Math.Ceiling(retryAfter.TotalSeconds));
        return new ErrorResponse(429, $"Rate limit is exceeded. Try again in {seconds} second{(seconds == 1 ? "" : "s")}.")
        {
            RetryAfterSeconds = seconds,
        };
    }

    public Task ExecuteAsync(HttpContext httpContext)
    {
        var response = httpContext.Response;
        response.StatusCode = StatusCode;
        response.Headers.CacheControl = "no-store";
        if (RetryAfterSeconds > 0)
            response.Headers.RetryAfter = RetryAfterSeconds.ToString(System.Globalization.CultureInfo.InvariantCulture);
        if (ApiRoute.Of(httpContext)?.IsText(StatusCode) != true)
            return JsonResponse.Of(new ErrorDocument(StatusCode, Message), ApiJson.Documents.ErrorDocument).ExecuteAsync(httpContext);
        response.ContentType = "text/plain; charset=utf-8";
        response.ContentLength = Message.Length; // ASCII: a byte each
        return response.WriteAsync(Message);
    }
}
