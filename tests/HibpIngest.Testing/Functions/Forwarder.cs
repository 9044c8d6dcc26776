using Microsoft.AspNetCore.Http;
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

    public async Task SendAsync(HttpContext context, string server) =>
        await _services.GetRequiredService<IHttpForwarder>()
            .SendAsync(context, server, _client, ForwarderRequestConfig.Empty, HttpTransformer.Default);

    public void Dispose()
    {
        _client.Dispose();
        _services.Dispose();
    }
}
