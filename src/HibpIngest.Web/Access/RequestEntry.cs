using System.Globalization;
using HibpIngest.Stores;
using Microsoft.AspNetCore.Http.Features;

namespace HibpIngest.Web;

/// <summary>A request on its way into the access log.</summary>
internal sealed class RequestEntry(RequestLog log, HttpContext context, long began)
{
    private bool _isGated;

    public HttpContext Context => context;

    public long Began => began;

    /// <summary>First 8 bytes of the key's SHA-256; 0: it came without one.</summary>
    public ulong Key { get; private set; }

    /// <summary>Whether it is logged: its answer may go.</summary>
    public bool IsRecorded { get; private set; }

    /// <summary>Of a request, where there is a log.</summary>
    public static RequestEntry? Of(HttpContext context) => context.Features.Get<RequestEntry>();

    public void SetKey(ApiKey key)
    {
        var text = key.Hash.AsSpan(0, 2 * sizeof(ulong));
        Key = System.Buffers.Binary.BinaryPrimitives.ReverseEndianness(
            ulong.Parse(text, NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture));
    }

    /// <summary>Nothing of the answer is sent before the request is logged, where that is so.</summary>
    /// <param name="route">What is asked; null: nothing that there is.</param>
    public void Gate(ApiRoute? route)
    {
        if (route?.IsLoggedFirst != true && (!log.IsAllDurable || route?.IsProbe == true))
            return;
        _isGated = true;
        var body = context.Features.GetRequiredFeature<IHttpResponseBodyFeature>();
        context.Features.Set<IHttpResponseBodyFeature>(new GatedBody(body, this));
    }

    /// <summary>Logs a request whose answer waits for it, once.</summary>
    /// <exception cref="AccessLog.AccessLogDownException">The answer must not be sent, but another that says so.</exception>
    public ValueTask PassAsync()
    {
        if (IsRecorded || !_isGated)
            return ValueTask.CompletedTask;
        IsRecorded = true; // whatever comes of it: the log says what was answered
        return log.AppendAsync(this, Template);
    }

    public void End()
    {
        // Nobody was answered who had gone before.
        if (IsRecorded || (context.RequestAborted.IsCancellationRequested && !context.Response.HasStarted))
            return;
        IsRecorded = true;
        log.Add(this, Template);
    }

    private string? Template => ApiRoute.Of(context)?.Template;
}
