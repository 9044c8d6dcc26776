using HibpIngest.Lookup;
using Microsoft.Net.Http.Headers;

namespace HibpIngest.Web;

/// <summary>Answers that are the same for everybody: gzipped where the client takes it, and not sent again to who has it.</summary>
internal static class ReadyAnswer
{
    public const string CacheControl = "public, max-age=300";

    public static async Task WriteAsync(HttpContext context, ReadyContent content, string contentType = JsonAnswer.ContentType)
    {
        var response = context.Response;
        var (bytes, etag) = content.Gzip is { } gzip && RequestHeaders.TakesGzip(context.Request)
            ? (gzip, content.GzipETag) : (content.Identity, content.ETag);
        var headers = response.Headers;
        headers.CacheControl = CacheControl;
        headers.ETag = etag;
        if (content.Gzip is not null)
            headers.Vary = HeaderNames.AcceptEncoding;
        if (RequestHeaders.Has(context.Request, content.ETag, content.GzipETag))
        {
            response.StatusCode = StatusCodes.Status304NotModified;
            return;
        }
        if (etag == content.GzipETag)
            headers.ContentEncoding = "gzip";
        response.ContentType = contentType;
        response.ContentLength = bytes.Length;
        await response.Body.WriteAsync(bytes);
    }
}
