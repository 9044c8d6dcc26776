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
        response.ContentLength = 1 + Math.Max(1, items.Count) + items.Sum(item => (long)item.Length);
        var body = response.BodyWriter;
        for (var i = 0; i < items.Count; i++)
        {
            // The server locks the response for each piece, so an item and the character before it are one.
            var piece = body.GetSpan(1 + items[i].Length);
            piece[0] = i == 0 ? (byte)'[' : (byte)',';
            items[i].Span.CopyTo(piece[1..]);
            body.Advance(1 + items[i].Length);
        }
        body.Write(items.Count == 0 ? "[]"u8 : "]"u8);
        return body.FlushAsync().AsTask();
    }
}
