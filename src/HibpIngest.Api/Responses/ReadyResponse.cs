using Microsoft.Net.Http.Headers;

namespace HibpIngest.Api.Responses;

/// <summary>A response that is the same for every caller: gzipped if the client accepts it, 304 if the client's copy is current.</summary>
internal sealed class ReadyResponse(
    ReadyContent content, string contentType = JsonResponse.ContentType, string cacheControl = ReadyResponse.CacheControl) : IResult
{
    public const string CacheControl = "public, max-age=300";

    public Task ExecuteAsync(HttpContext httpContext)
    {
        var response = httpContext.Response;
        var (bytes, etag) = content.Gzip is { } gzip && RequestHeaders.AcceptsGzip(httpContext.Request)
            ? (gzip, content.GzipETag) : (content.Identity, content.ETag);
        var headers = response.Headers;
        headers.CacheControl = cacheControl;
        headers.ETag = etag;
        if (content.Gzip is not null)
            headers.Vary = HeaderNames.AcceptEncoding;
        if (RequestHeaders.MatchesIfNoneMatch(httpContext.Request, content.ETag, content.GzipETag))
        {
            response.StatusCode = StatusCodes.Status304NotModified;
            return Task.CompletedTask;
        }
        if (etag == content.GzipETag)
            headers.ContentEncoding = "gzip";
        response.ContentType = contentType;
        response.ContentLength = bytes.Length;
        return response.Body.WriteAsync(bytes).AsTask();
    }
}
