using System.Buffers;
using System.Text.Json.Serialization.Metadata;

namespace HibpIngest.Api.Responses;

/// <summary>
/// A JSON document with a Content-Length, which <see cref="Results.Json(object?, JsonSerializerOptions?, string?, int?)"/> omits: without
/// it, a truncated response may look complete to a client.
/// </summary>
internal sealed class JsonResponse : IResult
{
    public const string ContentType = "application/json; charset=utf-8";

    private readonly byte[] _json;

    private JsonResponse(byte[] json) => _json = json;

    public static JsonResponse Of<T>(T value, JsonTypeInfo<T> type) => new(JsonSerializer.SerializeToUtf8Bytes(value, type));

    public Task ExecuteAsync(HttpContext httpContext)
    {
        var response = httpContext.Response;
        response.ContentType = ContentType;
        response.ContentLength = _json.Length;
        return response.Body.WriteAsync(_json).AsTask();
    }
}

/// <summary>An array of values that are already serialised as JSON.</summary>
internal sealed class JsonArrayResponse(IReadOnlyList<ReadOnlyMemory<byte>> items) : IResult
{
    public Task ExecuteAsync(HttpContext httpContext)
    {
        var response = httpContext.Response;
        response.ContentType = JsonResponse.ContentType;
        response.ContentLength = 2 + Math.Max(0, items.Count - 1) + items.Sum(item => (long)item.Length);
        var body = response.BodyWriter;
        body.Write("["u8);
        for (var i = 0; i < items.Count; i++)
        {
            if (i > 0)
                body.Write(","u8);
            body.Write(items[i].Span);
        }
        body.Write("]"u8);
        return body.FlushAsync().AsTask();
    }
}
