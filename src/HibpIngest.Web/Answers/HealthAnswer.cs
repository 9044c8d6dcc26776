namespace HibpIngest.Web;

/// <summary>How something is: <c>{"status":"healthy"}</c>, or 503 and unhealthy.</summary>
public static class HealthAnswer
{
    /// <summary>Sends it.</summary>
    public static Task WriteAsync(HttpResponse response, bool well)
    {
        response.StatusCode = well ? StatusCodes.Status200OK : StatusCodes.Status503ServiceUnavailable;
        response.Headers.CacheControl = "no-store";
        return JsonAnswer.WriteAsync(response, writer =>
        {
            writer.WriteStartObject();
            writer.WriteString("status"u8, well ? "healthy" : "unhealthy");
            writer.WriteEndObject();
        });
    }
}
