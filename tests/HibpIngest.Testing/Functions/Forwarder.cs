using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Extensions.DependencyInjection;
using Yarp.ReverseProxy.Forwarder;

namespace HibpIngest.Testing;

/// <summary>Forwards requests with YARP, as the Functions host does.</summary>
internal sealed class Forwarder : IDisposable
{
    private readonly HttpMessageInvoker _client = new(new SocketsHttpHandler
    {
        AllowAutoRedirect = false,
        AutomaticDecompression = DecompressionMethods.None,
        UseCookies = false,
        UseProxy = false,
        ActivityHeadersPropagator = null,
    });

    private readonly ServiceProvider _services = new ServiceCollection().AddLogging().AddHttpForwarder().BuildServiceProvider();

    public async Task SendAsync(HttpContext context, string server, HttpTransformer? transformer = null) =>
        await _services.GetRequiredService<IHttpForwarder>()
            .SendAsync(context, server, _client, ForwarderRequestConfig.Empty, transformer ?? HttpTransformer.Default);

    /// <summary>Forwards a request to a table service.</summary>
    /// <param name="body">The request's body, which was read.</param>
    /// <param name="own">Address of the forwarding server, which the parts of a transaction contain.</param>
    public Task SendAsync(HttpContext context, byte[] body, string own, Uri tables)
    {
        var sent = Encoding.Latin1.GetBytes(
            Encoding.Latin1.GetString(body).Replace(new Uri(own).Authority, tables.Authority, StringComparison.Ordinal));
        context.Request.Body = new MemoryStream(sent);
        if (body.Length > 0)
            context.Request.ContentLength = sent.Length;
        return SendAsync(context, tables.GetLeftPart(UriPartial.Authority), new SameTarget());
    }

    public void Dispose()
    {
        _client.Dispose();
        _services.Dispose();
    }

    /// <summary>Keeps the target exactly as the client has signed it.</summary>
    private sealed class SameTarget : HttpTransformer
    {
        public override async ValueTask TransformRequestAsync(
            HttpContext httpContext, HttpRequestMessage proxyRequest, string destinationPrefix, CancellationToken cancellationToken)
        {
            await base.TransformRequestAsync(httpContext, proxyRequest, destinationPrefix, cancellationToken);
            proxyRequest.RequestUri = new Uri(destinationPrefix + httpContext.Features.GetRequiredFeature<IHttpRequestFeature>().RawTarget);
            proxyRequest.Headers.Host = null;
        }
    }
}
