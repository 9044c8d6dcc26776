using System.Net;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Yarp.ReverseProxy.Forwarder;

namespace HibpIngest.Testing;

/// <summary>
/// The API's Functions app behind a front end that does what the Functions host does with a request: it invokes the
/// function, and forwards the request with YARP to the worker's own server under the same invocation id.
/// </summary>
internal sealed class ApiHost : IAsyncDisposable
{
    /// <summary>The header that joins a request to its invocation.</summary>
    public const string InvocationHeader = "x-ms-invocation-id";

    private const string Function = "Web";

    private readonly WebApplication _front;
    private readonly HttpMessageInvoker _client = new(new SocketsHttpHandler
    {
        AllowAutoRedirect = false,
        AutomaticDecompression = DecompressionMethods.None,
        UseCookies = false,
        UseProxy = false,
        ActivityHeadersPropagator = null,
    });

    private ApiHost(FunctionsWorker worker)
    {
        Worker = worker;
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseKestrelCore().ConfigureKestrel(server => server.Listen(IPAddress.Loopback, 0));
        builder.Services.AddLogging().AddHttpForwarder();
        _front = builder.Build();
        var forwarder = _front.Services.GetRequiredService<IHttpForwarder>();
        _front.Run(context => ForwardAsync(forwarder, context));
    }

    public FunctionsWorker Worker { get; }

    public Uri Address => new(_front.Services.GetRequiredService<IServer>().Features.GetRequiredFeature<IServerAddressesFeature>()
        .Addresses.Single());

    /// <summary>Starts the app with these app settings.</summary>
    /// <param name="folder">The parent of its home folder.</param>
    public static async Task<ApiHost> StartAsync(string folder, IReadOnlyDictionary<string, string> settings)
    {
        var host = new ApiHost(await FunctionsWorker.StartAsync(BuiltApp.Folder("HibpIngest.Functions.Api"), folder, settings));
        await host._front.StartAsync();
        return host;
    }

    /// <summary>Sends a recorded request unchanged, as the host would forward it, and invokes the function with it.</summary>
    public async Task<RawAnswer> SendAsync(RecordedRequest request)
    {
        var id = Guid.NewGuid().ToString();
        var invocation = Worker.InvokeForwardedAsync(Function, id);
        var answer = await RawHttp.SendAsync(
            Worker.HttpAddress!, request with
            {
                Headers = [.. request.Headers.Where(header => header.Name != InvocationHeader), (InvocationHeader, id)],
            });
        var result = await invocation;
        Assert.True(result.Succeeded, $"{result.Error}: {answer}");
        return answer;
    }

    public async ValueTask DisposeAsync()
    {
        await _front.DisposeAsync();
        _client.Dispose();
        await Worker.DisposeAsync();
    }

    private async Task ForwardAsync(IHttpForwarder forwarder, HttpContext context)
    {
        // A client's own id is kept: the worker then waits for an invocation that never comes.
        var id = Guid.NewGuid().ToString();
        context.Request.Headers.TryAdd(InvocationHeader, id);
        // ASPNETCORE_FORWARDEDHEADERS_ENABLED, as infra/ sets it: the host takes the last entry as the caller's
        // address, and YARP sends only that.
        if (context.Request.Headers["X-Forwarded-For"].LastOrDefault() is { } caller)
            context.Connection.RemoteIpAddress = IPAddress.Parse(caller.Split(',')[^1].Trim());
        var invocation = Worker.InvokeForwardedAsync(Function, id);
        await forwarder.SendAsync(context, Worker.HttpAddress!.AbsoluteUri, _client, ForwarderRequestConfig.Empty, HttpTransformer.Default);
        await invocation;
    }
}
