using System.Net;
using HibpIngest.Errors;
using HibpIngest.Web;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Hosting.Web;

/// <summary>The API on a port of this machine: Kestrel, and nothing of the environment's that could change how it listens.</summary>
public sealed class WebServer : IAsyncDisposable
{
    /// <summary>Longest request line; what the Functions host takes is the same.</summary>
    private const int MaxRequestLineBytes = 8 * 1024;

    private const int MaxHeaderBytes = 32 * 1024;

    // Whoever sends a header a second keeps a connection, not a thread; this ends it.
    private static readonly TimeSpan HeadersTimeout = TimeSpan.FromSeconds(10);

    private static readonly TimeSpan IdleTimeout = TimeSpan.FromMinutes(2);

    private readonly WebApplication _app;
    private readonly ServedApi _api;

    private WebServer(WebApplication app, ServedApi api) => (_app, _api) = (app, api);

    /// <summary>Where it listens.</summary>
    public IReadOnlyList<string> Addresses =>
        [.. _app.Services.GetRequiredService<IServer>().Features.GetRequiredFeature<IServerAddressesFeature>().Addresses];

    /// <summary>Starts it; it answers when this returns.</summary>
    /// <param name="stores">What it reads.</param>
    /// <param name="options">How it answers, and where.</param>
    /// <param name="time">The clock.</param>
    /// <param name="logs">Where everything is logged.</param>
    /// <param name="cancellationToken">Stops the start.</param>
    /// <exception cref="BadInputException">An address is none, or not one for a server without keys.</exception>
    /// <exception cref="NotPossibleException">An address is taken.</exception>
    public static async Task<WebServer> StartAsync(
        WebStores stores, WebServerOptions options, TimeProvider time, ILoggerFactory logs, CancellationToken cancellationToken)
    {
        var ends = options.Urls.Select(url => EndOf(url, options.IsOpen)).ToList();
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.Services.AddSingleton<ILoggerFactory>(new FrameworkLogs(logs));
        builder.WebHost.UseKestrelCore().ConfigureKestrel(server =>
        {
            // Without https there is no HTTP/2 to be agreed on: asked for, it is warned of at each start.
            foreach (var end in ends)
                server.Listen(end, listen => listen.Protocols = HttpProtocols.Http1);
            Limit(server);
        });
        var api = new ServedApi(stores, options.Web, options.IsOpen, options.Address, time, logs);
        api.AddServices(builder.Services);
        var app = builder.Build();
        try
        {
            api.Map(app);
            await app.StartAsync(cancellationToken);
            return new WebServer(app, api);
        }
        catch (Exception e)
        {
            await app.DisposeAsync();
            await api.DisposeAsync();
            if (e is IOException or AddressInUseException)
                throw new NotPossibleException($"{string.Join(" and ", options.Urls)} can't be listened on: another program does already; "
                    + "name a free address by --urls");
            throw;
        }
    }

    /// <summary>What any server of the API takes from a connection at most.</summary>
    public static void Limit(KestrelServerOptions server)
    {
        server.AddServerHeader = false;
        server.AllowSynchronousIO = false;
        server.Limits.MaxRequestLineSize = MaxRequestLineBytes;
        server.Limits.MaxRequestHeadersTotalSize = MaxHeaderBytes;
        server.Limits.MaxRequestBodySize = 0; // everything is asked by GET
        server.Limits.RequestHeadersTimeout = HeadersTimeout;
        server.Limits.KeepAliveTimeout = IdleTimeout;
    }

    /// <summary>Ends what is in hand, then stops listening.</summary>
    public async ValueTask DisposeAsync()
    {
        await _app.StopAsync();
        await _app.DisposeAsync();
        await _api.DisposeAsync();
    }

    private static IPEndPoint EndOf(string url, bool isOpen)
    {
        if (!Uri.TryCreate(url, UriKind.Absolute, out var address) || address.Scheme != Uri.UriSchemeHttp || address.PathAndQuery != "/")
            throw new BadInputException($"'{url}' is no address to listen on: expected http://HOST:PORT (for https put a proxy before it)");
        var ip = address.Host switch
        {
            "localhost" => IPAddress.Loopback,
            "*" or "+" => IPAddress.IPv6Any,
            _ when IPAddress.TryParse(address.Host, out var parsed) => parsed,
            _ => throw new BadInputException($"'{url}' is no address to listen on: its host is expected to be localhost or an IP address, "
                + "0.0.0.0 for all"),
        };
        if (isOpen && !IPAddress.IsLoopback(ip))
            throw new BadInputException($"'{url}' is reached by other machines, and --open answers whoever asks: leave --open out and "
                + "make a key by 'hibp keys create NAME', or listen on http://127.0.0.1:PORT");
        return new IPEndPoint(ip, address.Port);
    }
}
