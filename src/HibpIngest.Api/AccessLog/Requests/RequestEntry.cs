using Microsoft.AspNetCore.Http.Features;

namespace HibpIngest.Api.AccessLog.Requests;

internal sealed class RequestEntry(RequestLog log, HttpContext context, long started)
{
    private bool _isGated;

    public HttpContext Context => context;
    public long Started => started;

    /// <summary>First 8 bytes of the key's SHA-256; 0 if no key was sent.</summary>
    public ulong Key { get; private set; }

    public bool IsRecorded { get; private set; }

    /// <returns>Null if there is no access log.</returns>
    public static RequestEntry? Of(HttpContext context) => context.Features.Get<RequestEntry>();

    public void SetKey(ApiKey key)
    {
        var text = key.Hash.AsSpan(0, 2 * sizeof(ulong));
        Key = System.Buffers.Binary.BinaryPrimitives.ReverseEndianness(
            ulong.Parse(text, NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture));
    }

    /// <summary>Holds back the response until the request is logged, if its route requires that.</summary>
    public void Gate(ApiRoute? route)
    {
        if (route?.IsLoggedFirst != true && (!log.IsAllDurable || route?.IsProbe == true))
            return;
        _isGated = true;
        var body = context.Features.GetRequiredFeature<IHttpResponseBodyFeature>();
        context.Features.Set<IHttpResponseBodyFeature>(new GatedBody(body, this));
    }

    /// <summary>Logs a request whose response is held back, once.</summary>
    /// <exception cref="AccessLog.AccessLogDownException">The response must not be sent; an error must be sent instead.</exception>
    public ValueTask PassAsync()
    {
        if (IsRecorded || !_isGated)
            return ValueTask.CompletedTask;
        IsRecorded = true; // set even if the append fails: the request is logged at most once
        return log.AppendAsync(this, Template);
    }

    public void End()
    {
        // The client disconnected before the response started: no response was sent, so nothing is logged.
        if (IsRecorded || (context.RequestAborted.IsCancellationRequested && !context.Response.HasStarted))
            return;
        IsRecorded = true;
        log.Add(this, Template);
    }

    private string? Template => ApiRoute.Of(context)?.Template;
}
