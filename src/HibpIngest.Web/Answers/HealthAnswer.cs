using System.Text.Json;

namespace HibpIngest.Web;

/// <summary>The answer to a health probe: <c>{"status":"healthy"}</c>, or 503 and <c>unhealthy</c>.</summary>
public static class HealthAnswer
{
    /// <summary>Sends it.</summary>
    public static Task WriteAsync(HttpResponse response, bool well)
    {
        response.StatusCode = well ? StatusCodes.Status200OK : StatusCodes.Status503ServiceUnavailable;
        response.Headers.CacheControl = "no-store";
        return JsonAnswer.WriteAsync(response, writer => Write(writer, well, []));
    }

    /// <summary>Returns the body, with the reasons where there are any.</summary>
    public static byte[] ToJson(bool well, IReadOnlyList<string> errors)
    {
        using var json = new MemoryStream();
        using (var writer = new Utf8JsonWriter(json, JsonAnswer.Options))
            Write(writer, well, errors);
        return json.ToArray();
    }

    private static void Write(Utf8JsonWriter writer, bool well, IReadOnlyList<string> errors)
    {
        writer.WriteStartObject();
        writer.WriteString("status"u8, well ? "healthy" : "unhealthy");
        if (errors.Count > 0)
        {
            writer.WriteStartArray("errors"u8);
            foreach (var error in errors)
                writer.WriteStringValue(error);
            writer.WriteEndArray();
        }
        writer.WriteEndObject();
    }
}
