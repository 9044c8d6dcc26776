using System.Text.Json;

namespace HibpIngest.Web;

/// <summary>
/// Why a request is not answered, in the form of Have I Been Pwned's API: <c>{"statusCode":401,"message":"..."}</c>, in this
/// order; the range of accounts says some of it in plain text.
/// </summary>
/// <param name="StatusCode">The status.</param>
/// <param name="Message">For the developer of the client; nothing of what was asked for.</param>
public sealed record ErrorAnswer(int StatusCode, string Message)
{
    internal static readonly ErrorAnswer NoUserAgent = new(403, "API request must include a user agent");
    internal static readonly ErrorAnswer NoKey = new(401, "Access denied due to missing hibp-api-key.");
    internal static readonly ErrorAnswer MalformedKey = new(401, "Access denied due to improperly formed hibp-api-key.");
    internal static readonly ErrorAnswer WrongKey = new(401, "Access denied due to invalid hibp-api-key.");
    internal static readonly ErrorAnswer NotAllowed = new(403, "Your HIBP API key does not have access to this resource");
    internal static readonly ErrorAnswer NotFound = new(404, "Not found");
    internal static readonly ErrorAnswer NoSuchRoute = new(404, "There is nothing at this address; docs/api.md lists what there is");
    internal static readonly ErrorAnswer Unavailable = new(503, "The service is temporarily unavailable; try again in a moment");
    internal static readonly ErrorAnswer Unexpected = new(500, "Something went wrong");

    /// <summary>After so many whole seconds the client may come again; 0: says nothing.</summary>
    public int RetryAfterSeconds { get; init; }

    /// <summary>As plain text: the range of accounts says 400, 403 and 404 so.</summary>
    public bool AsText { get; init; }

    /// <summary>Too many requests: whole seconds, rounded up, which clients parse as an integer.</summary>
    public static ErrorAnswer TooMany(TimeSpan retryAfter)
    {
        var seconds = Math.Max(1, (int)Math.Ceiling(retryAfter.TotalSeconds));
        return new ErrorAnswer(429, $"Rate limit is exceeded. Try again in {seconds} second{(seconds == 1 ? "" : "s")}.")
        {
            RetryAfterSeconds = seconds,
        };
    }

    /// <summary>Sends it. It is cached by nobody.</summary>
    public Task WriteAsync(HttpResponse response)
    {
        response.StatusCode = StatusCode;
        response.Headers.CacheControl = "no-store";
        if (RetryAfterSeconds > 0)
            response.Headers.RetryAfter = RetryAfterSeconds.ToString(System.Globalization.CultureInfo.InvariantCulture);
        if (AsText)
        {
            response.ContentType = "text/plain; charset=utf-8";
            response.ContentLength = Message.Length;
            return response.WriteAsync(Message);
        }
        return JsonAnswer.WriteAsync(response, writer =>
        {
            writer.WriteStartObject();
            writer.WriteNumber("statusCode"u8, StatusCode);
            writer.WriteString("message"u8, Message);
            writer.WriteEndObject();
        });
    }
}
