using System.Buffers;
using System.Text.Encodings.Web;
using System.Text.Json;

namespace HibpIngest.Web;

/// <summary>Answers that are made for one request.</summary>
internal static class JsonAnswer
{
    public const string ContentType = "application/json; charset=utf-8";

    // Everything that a JSON text may hold as it is; it is never put into HTML.
    public static readonly JsonWriterOptions Options =
        new() { Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping, SkipValidation = true };

    /// <summary>Small: written whole, then sent with its length.</summary>
    public static async Task WriteAsync(HttpResponse response, Action<Utf8JsonWriter> write)
    {
        var body = new ArrayBufferWriter<byte>(256);
        using (var writer = new Utf8JsonWriter(body, Options))
            write(writer);
        response.ContentType = ContentType;
        response.ContentLength = body.WrittenCount;
        await response.Body.WriteAsync(body.WrittenMemory);
    }

    /// <summary>An array of values that are JSON already.</summary>
    public static async Task WriteArrayAsync<T>(HttpResponse response, IReadOnlyList<T> items, Func<T, ReadOnlyMemory<byte>> json)
    {
        var length = 2 + Math.Max(0, items.Count - 1);
        foreach (var item in items)
            length += json(item).Length;
        response.ContentType = ContentType;
        response.ContentLength = length;
        var body = response.BodyWriter;
        body.Write("["u8);
        for (var i = 0; i < items.Count; i++)
        {
            if (i > 0)
                body.Write(","u8);
            body.Write(json(items[i]).Span);
        }
        body.Write("]"u8);
        await body.FlushAsync();
    }
}
