using System.ComponentModel;
using HibpIngest.Passwords;
using HibpIngest.Passwords.Ranges;
using HibpIngest.Passwords.Releases;
using HibpIngest.Passwords.Serving;

namespace HibpIngest.Api.Endpoints;

internal sealed class PasswordEndpoints(IPasswordRanges ranges, IOptions<PasswordOptions> options) : IApiEndpoints
{
    public const string PaddingHeader = "Add-Padding";

    private const string ModeWords = "ntlm for NTLM hashes; else SHA-1";

    private static readonly ErrorResponse BadLength = new(400, "The hash prefix was not in a valid format");
    private static readonly ErrorResponse BadDigits = new(400, "The hash prefix was not valid hexadecimal");
    private static readonly ErrorResponse BadTime =
        new(400, "since is expected to be a time, as 2026-11-22T00:00:00Z: the value of next in the last response");
    private static readonly ErrorResponse NotServed = new(404, "Passwords hashed in this way are not served here");

    private readonly string _cacheControl = string.Create(
        CultureInfo.InvariantCulture, $"public, max-age={options.Value.MaxAge()}");

    public void Map(ApiRoutes routes)
    {
        routes.Get("/range/{prefix?}", RouteAccess.Passwords, RangeAsync).Describe(
            "The passwords whose hash begins with five hex digits: rows SUFFIX:COUNT, CRLF between them", typeof(string), 400, 404);
        routes.Get("/passwords/changes", RouteAccess.Passwords, ChangesAsync)
            .Describe("The ranges of passwords that have changed since a time", typeof(PasswordChanges), 400, 404);
    }

    private async Task<IResult> RangeAsync(HttpContext context, [Description(ModeWords)] string? mode, CancellationToken cancellationToken)
    {
        var text = ApiRoute.ParameterOf(context);
        if (text.Length != HashModes.PrefixDigits)
            return BadLength;
        if (!int.TryParse(text, NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture, out var prefix))
            return BadDigits;
        if (await ranges.FindAsync(ModeOf(mode), prefix, cancellationToken) is not { } range)
            return NotServed;
        var (request, response) = (context.Request, context.Response);
        var acceptsGzip = RequestHeaders.AcceptsGzip(request);
        AddHeaders(response, range);
        if (request.Headers[PaddingHeader].ToString().Equals("true", StringComparison.OrdinalIgnoreCase))
        {
            var (bytes, isGzip) = range.Padded(acceptsGzip);
            await WriteAsync(response, bytes, isGzip);
            return Results.Empty;
        }
        var body = range.For(acceptsGzip);
        response.Headers.ETag = body.ETag;
        response.Headers.ContentMD5 = body.Md5;
        if (RequestHeaders.MatchesIfNoneMatch(request, body.ETag))
            response.StatusCode = StatusCodes.Status304NotModified;
        else
            await WriteAsync(response, body.Bytes, body.IsGzip);
        return Results.Empty;
    }

    private async Task<IResult> ChangesAsync(
        HttpContext context,
        [Description("The time, as 2026-11-22T00:00:00Z: the value of next in the last response")] string? since,
        [Description(ModeWords)] string? mode,
        CancellationToken cancellationToken)
    {
        if (!DateTimeOffset.TryParse(
            RequestQuery.First(since), CultureInfo.InvariantCulture, DateTimeStyles.AssumeUniversal | DateTimeStyles.AdjustToUniversal,
            out var time))
            return BadTime;
        if (await ranges.FindChangesAsync(ModeOf(mode), time, cancellationToken) is not { } changed)
            return NotServed;
        context.Response.Headers.CacheControl = "no-store";
        var next = changed.Next.UtcDateTime;
        return JsonResponse.Of(
            new PasswordChanges(
                changed.Release, ModeOf(mode).Name(), next.AddTicks(-(next.Ticks % TimeSpan.TicksPerSecond)), changed.Prefixes is null,
                (changed.Prefixes ?? []).Select(HashModes.PrefixText)),
            ApiJson.Documents.PasswordChanges);
    }

    // Exact match; any other text means SHA-1.
    private static HashMode ModeOf(string? mode) => RequestQuery.First(mode) == HashMode.Ntlm.Name() ? HashMode.Ntlm : HashMode.Sha1;

    private void AddHeaders(HttpResponse response, RangeContent range)
    {
        var headers = response.Headers;
        headers.CacheControl = _cacheControl;
        headers.Vary = "Accept-Encoding, Add-Padding";
        headers.AccessControlExposeHeaders = "Content-MD5, ETag";
        headers.LastModified = range.LastModified.ToString("R", CultureInfo.InvariantCulture);
    }

    private static async Task WriteAsync(HttpResponse response, ReadOnlyMemory<byte> bytes, bool isGzip)
    {
        if (isGzip)
            response.Headers.ContentEncoding = "gzip";
        response.ContentType = "text/plain; charset=utf-8";
        response.ContentLength = bytes.Length;
        await response.Body.WriteAsync(bytes);
    }
}
