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

    /// <summary>What it says of gzip counts, else what it says of all; by default it takes none.</summary>
    private static bool TakesGzip(HttpRequest request)
    {
        var (gzip, all) = ((bool?)null, (bool?)null);
        foreach (var header in request.Headers.AcceptEncoding)
        {
            foreach (var part in header.AsSpan().Split(','))
            {
                var coding = header.AsSpan()[part].Trim();
                var end = coding.IndexOf(';');
                var name = (end < 0 ? coding : coding[..end]).Trim();
                if (name.Equals("gzip", StringComparison.OrdinalIgnoreCase))
                    gzip = end < 0 || !IsZero(coding[(end + 1)..]);
                else if (name.SequenceEqual("*"))
                    all = end < 0 || !IsZero(coding[(end + 1)..]);
            }
        }
        return gzip ?? all ?? false;
    }

    /// <summary>q=0, q=0.0 and so on.</summary>
    private static bool IsZero(ReadOnlySpan<char> weight)
    {
        weight = weight.Trim();
        return weight.StartsWith("q=", StringComparison.OrdinalIgnoreCase) && weight[2..].Trim().IndexOfAnyExcept("0.") < 0;
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
