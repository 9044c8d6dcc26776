using System.Globalization;
using HibpIngest.Passwords;

namespace HibpIngest.Web;

/// <summary>Pwned Passwords by range.</summary>
internal sealed class PasswordEndpoints(IPasswordRanges ranges, PasswordOptions options)
{
    private const string PaddingHeader = "Add-Padding";

    private static readonly ErrorAnswer BadLength = new(400, "The hash prefix was not in a valid format") { AsText = true };
    private static readonly ErrorAnswer BadDigits = new(400, "The hash prefix was not valid hexadecimal") { AsText = true };
    private static readonly ErrorAnswer BadTime =
        new(400, "since is expected to be a time, as 2026-11-22T00:00:00Z: what the last answer gave as next") { AsText = true };
    private static readonly ErrorAnswer NotServed = new(404, "Passwords hashed in this way are not served here") { AsText = true };

    private readonly string _cacheControl = string.Create(
        CultureInfo.InvariantCulture, $"public, max-age={options.MaxAge()}");

    /// <summary><c>GET /range/{prefix}</c>.</summary>
    public async Task RangeAsync(WebCall call)
    {
        if (call.Parameter.Length != HashModes.PrefixDigits)
        {
            await BadLength.WriteAsync(call.Response);
            return;
        }
        if (!int.TryParse(call.Parameter, NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture, out var prefix))
        {
            await BadDigits.WriteAsync(call.Response);
            return;
        }
        var mode = ModeOf(call);
        if (await ranges.FindAsync(mode, prefix, call.Aborted) is not { } range)
        {
            await NotServed.WriteAsync(call.Response);
            return;
        }
        var takesGzip = RequestHeaders.TakesGzip(call.Context.Request);
        AddHeaders(call.Response, range);
        if (call.Context.Request.Headers[PaddingHeader].ToString().Equals("true", StringComparison.OrdinalIgnoreCase))
        {
            var (bytes, isGzip) = range.Padded(takesGzip);
            await WriteAsync(call.Response, bytes, isGzip);
            return;
        }
        var body = range.For(takesGzip);
        call.Response.Headers.ETag = body.ETag;
        call.Response.Headers.ContentMD5 = body.Md5;
        if (RequestHeaders.Has(call.Context.Request, body.ETag))
            call.Response.StatusCode = StatusCodes.Status304NotModified;
        else
            await WriteAsync(call.Response, body.Bytes, body.IsGzip);
    }

    /// <summary><c>GET /passwords/changes</c>.</summary>
    public async Task ChangesAsync(WebCall call)
    {
        if (!DateTimeOffset.TryParse(
            call.Query("since"), CultureInfo.InvariantCulture, DateTimeStyles.AssumeUniversal | DateTimeStyles.AdjustToUniversal,
            out var since))
        {
            await BadTime.WriteAsync(call.Response);
            return;
        }
        var mode = ModeOf(call);
        if (await ranges.FindChangesAsync(mode, since, call.Aborted) is not { } changed)
        {
            await NotServed.WriteAsync(call.Response);
            return;
        }
        call.Response.Headers.CacheControl = "no-store";
        await JsonAnswer.WriteAsync(call.Response, writer =>
        {
            writer.WriteStartObject();
            writer.WriteString("release"u8, changed.Release);
            writer.WriteString("mode"u8, mode.Name());
            writer.WriteString("next"u8, changed.Next.UtcDateTime.ToString("yyyy-MM-ddTHH:mm:ssZ", CultureInfo.InvariantCulture));
            writer.WriteBoolean("everything"u8, changed.Prefixes is null);
            writer.WriteStartArray("prefixes"u8);
            foreach (var prefix in changed.Prefixes ?? [])
                writer.WriteStringValue(HashModes.PrefixText(prefix));
            writer.WriteEndArray();
            writer.WriteEndObject();
        });
    }

    // Exactly so; whatever else is asked for is SHA-1.
    private static HashMode ModeOf(WebCall call) => call.Query("mode") == HashMode.Ntlm.Name() ? HashMode.Ntlm : HashMode.Sha1;

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
