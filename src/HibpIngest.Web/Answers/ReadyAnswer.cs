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
        var (bytes, etag) = content.Gzip is { } gzip && TakesGzip(context.Request)
            ? (gzip, content.GzipETag) : (content.Identity, content.ETag);
        var headers = response.Headers;
        headers.CacheControl = CacheControl;
        headers.ETag = etag;
        if (content.Gzip is not null)
            headers.Vary = HeaderNames.AcceptEncoding;
        if (Has(context.Request, content))
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

    private static bool TakesGzip(HttpRequest request)
    {
        var all = request.GetTypedHeaders().AcceptEncoding;
        var said = all.FirstOrDefault(one => one.Value.Equals("gzip", StringComparison.OrdinalIgnoreCase))
            ?? all.FirstOrDefault(one => one.Value == "*");
        return said is not null && said.Quality is not 0;
    }

    /// <summary>Whichever representation the client has, it is this content.</summary>
    private static bool Has(HttpRequest request, ReadyContent content)
    {
        foreach (var header in request.Headers.IfNoneMatch)
        {
            if (header is null)
                continue;
            foreach (var part in header.Split(',', StringSplitOptions.TrimEntries))
            {
                var tag = part.StartsWith("W/", StringComparison.Ordinal) ? part[2..] : part;
                if (tag == "*" || tag == content.ETag || tag == content.GzipETag)
                    return true;
            }
        }
        return false;
    }
}
