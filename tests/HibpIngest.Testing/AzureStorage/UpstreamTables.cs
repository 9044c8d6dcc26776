using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;

namespace HibpIngest.Testing;

/// <summary>Forwards requests to a table service, for servers that respond to some requests themselves.</summary>
internal sealed class UpstreamTables(Uri upstream) : IDisposable
{
    private readonly HttpClient _http =
        new(new SocketsHttpHandler { UseProxy = false, MaxConnectionsPerServer = 256 }) { Timeout = TimeSpan.FromMinutes(2) };

    /// <param name="own">Address of the forwarding server, which the parts of a transaction contain.</param>
    public async Task ForwardAsync(HttpContext context, byte[] body, string own)
    {
        var received = context.Request;
        var text = body.Length == 0 ? body : Encoding.Latin1.GetBytes(
            Encoding.Latin1.GetString(body).Replace(new Uri(own).Authority, upstream.Authority, StringComparison.Ordinal));
        var target = context.Features.GetRequiredFeature<IHttpRequestFeature>().RawTarget;
        using var request = new HttpRequestMessage(
            new HttpMethod(received.Method), $"{upstream.GetLeftPart(UriPartial.Authority)}{target}");
        if (received.ContentLength is not null || body.Length > 0)
            request.Content = new ByteArrayContent(text);
        foreach (var (name, value) in received.Headers)
        {
            if (name is "Host" or "Content-Length" or "Connection")
                continue;
            if (!request.Headers.TryAddWithoutValidation(name, (IEnumerable<string>)value))
                request.Content?.Headers.TryAddWithoutValidation(name, (IEnumerable<string>)value);
        }
        using var answer = await _http.SendAsync(request);
        context.Response.StatusCode = (int)answer.StatusCode;
        foreach (var (name, values) in answer.Headers.Concat(answer.Content.Headers))
        {
            if (name is not ("Transfer-Encoding" or "Connection" or "Keep-Alive" or "Content-Length"))
                context.Response.Headers[name] = values.ToArray();
        }
        if (answer.StatusCode is not (HttpStatusCode.NoContent or HttpStatusCode.NotModified))
            await context.Response.Body.WriteAsync(await answer.Content.ReadAsByteArrayAsync());
    }

    public void Dispose() => _http.Dispose();
}
