namespace HibpIngest.Integration.Tests.AzureStorage;

/// <summary>Intercepts a request, which it sends itself.</summary>
internal delegate Task<HttpResponseMessage> Around(HttpRequestMessage request, Func<Task<HttpResponseMessage>> send);

internal sealed class AroundHandler(Around around) : DelegatingHandler(new SocketsHttpHandler())
{
    protected override Task<HttpResponseMessage> SendAsync(HttpRequestMessage request, CancellationToken cancellationToken) =>
        around(request, () => base.SendAsync(request, cancellationToken));
}
