namespace HibpIngest.Api.Responses;

/// <summary>The response to a health probe: <c>{"status":"healthy"}</c>, or 503 and <c>unhealthy</c>.</summary>
public static class HealthResponse
{
    public static Task WriteAsync(HttpResponse response, bool well)
    {
        response.StatusCode = well ? StatusCodes.Status200OK : StatusCodes.Status503ServiceUnavailable;
        response.Headers.CacheControl = "no-store";
        return JsonResponse.Of(Of(well, []), ApiJson.Documents.HealthDocument).ExecuteAsync(response.HttpContext);
    }

    /// <summary>Returns the body, with the errors if there are any.</summary>
    public static byte[] ToJson(bool well, IReadOnlyList<string> errors) =>
        JsonSerializer.SerializeToUtf8Bytes(Of(well, errors), ApiJson.Documents.HealthDocument);

    private static HealthDocument Of(bool well, IReadOnlyList<string> errors) =>
        new(well ? "healthy" : "unhealthy", errors.Count > 0 ? errors : null);
}
