using System.Net;
using System.Security.Cryptography.X509Certificates;
using HibpIngest.Api;
using HibpIngest.Api.Settings;
using HibpIngest.Passwords.Serving;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging.Abstractions;

namespace HibpIngest.Hosting.Web;

/// <summary>The API on a port of this machine: Kestrel, without any environment settings that could change how it listens.</summary>
public sealed class WebServer : IAsyncDisposable
{
    // Equal to that of the Functions host.
    private const int MaxRequestLineBytes = 8 * 1024;
    private const int MaxHeaderBytes = 32 * 1024;

    // A client that sends its headers slowly holds a connection, not a thread; this ends it.
    private static readonly TimeSpan HeadersTimeout = TimeSpan.FromSeconds(10);
    private static readonly TimeSpan IdleTimeout = TimeSpan.FromMinutes(2);

    private readonly IHost _host;

    private WebServer(IHost host) => _host = host;

    public IReadOnlyList<string> Addresses =>
        [.. _host.Services.GetRequiredService<IServer>().Features.GetRequiredFeature<IServerAddressesFeature>().Addresses];

    public IServiceProvider Services => _host.Services;

    /// <summary>Starts the server; it responds when this returns.</summary>
    /// <param name="addStorage">Adds the storage ports (<see cref="ApiStorage.AddHibpApiStorage"/>).</param>
    /// <exception cref="BadInputException">An address is invalid, or not allowed for a server without keys.</exception>
    /// <exception cref="NotPossibleException">An address is in use.</exception>
    public static async Task<WebServer> StartAsync(
        WebServerOptions options, Action<IServiceCollection> addStorage, TimeProvider time, ILoggerFactory logs,
        CancellationToken cancellationToken)
    {
        var certificate = Certificate(options);
        var ends = options.Urls.Select(url => EndOf(url, options)).ToList();
        // WebApplication isn't used: it would authenticate every request, even on routes that need no key.
        var host = new HostBuilder().ConfigureWebHost(
            web => web.UseKestrelCore().UseKestrelHttpsConfiguration().ConfigureKestrel(server =>
            {
                foreach (var (end, isHttps) in ends)
                {
                    server.Listen(end, listen =>
                    {
                        // HTTP/2 is negotiated within TLS; without TLS the two can't be distinguished.
                        listen.Protocols = isHttps ? HttpProtocols.Http1AndHttp2 : HttpProtocols.Http1;
                        if (isHttps)
                            listen.UseHttps(certificate!);
                    });
                }
                Limit(server);
            }).ConfigureServices(services =>
            {
                services.AddSingleton<ILoggerFactory>(new FrameworkLogs(logs)).AddSingleton(time).AddHibpApi(options);
                addStorage(services);
            }).Configure(app => app.MapHibpApi()),
            web => web.SuppressEnvironmentConfiguration = true)
            .UseDefaultServiceProvider(provider => provider.ValidateScopes = true).Build();
        var server = new WebServer(host);
        try
        {
            // Opens the stores that the settings name, so that a wrong setting is reported first.
            _ = host.Services.GetRequiredService<IPasswordRanges>();
            await host.StartAsync(cancellationToken);
            return server;
        }
        catch (Exception e)
        {
            await server.DisposeHostAsync();
            if (e is IOException or AddressInUseException)
                throw new NotPossibleException($"can't listen on {string.Join(" and ", options.Urls)}: another program uses the address; "
                    + "choose a free one with --urls");
            throw;
        }
    }

    /// <summary>Sets the connection and request limits of every server of the API.</summary>
    public static void Limit(KestrelServerOptions server)
    {
        server.AddServerHeader = false;
        server.AllowSynchronousIO = false;
        server.Limits.MaxRequestLineSize = MaxRequestLineBytes;
        server.Limits.MaxRequestHeadersTotalSize = MaxHeaderBytes;
        server.Limits.MaxRequestBodySize = 0; // nearly all routes are GET; a route with a body raises this
        server.Limits.RequestHeadersTimeout = HeadersTimeout;
        server.Limits.KeepAliveTimeout = IdleTimeout;
    }

    public async ValueTask DisposeAsync()
    {
        try
        {
            await _host.StopAsync();
        }
        finally
        {
            // Writes the rest of the access log.
            await DisposeHostAsync();
        }
    }

    private ValueTask DisposeHostAsync() => ((IAsyncDisposable)_host).DisposeAsync();

    private static (IPEndPoint End, bool IsHttps) EndOf(string url, WebServerOptions options)
    {
        if (!Uri.TryCreate(url, UriKind.Absolute, out var address) || address.PathAndQuery != "/"
            || (address.Scheme != Uri.UriSchemeHttp && address.Scheme != Uri.UriSchemeHttps))
            throw new BadInputException($"'{url}' is not an address to listen on: expected http://HOST:PORT or https://HOST:PORT");
        var isHttps = address.Scheme == Uri.UriSchemeHttps;
        if (isHttps && options.CertificateFile is null)
            throw new BadInputException($"'{url}' needs a certificate: name its PEM file, key included, with --certificate, or listen "
                + "on http:// behind a proxy that speaks https");
        var ip = address.Host switch
        {
            "localhost" => IPAddress.Loopback,
            "*" or "+" => IPAddress.IPv6Any,
            _ when IPAddress.TryParse(address.Host, out var parsed) => parsed,
            _ => throw new BadInputException($"'{url}' is not an address to listen on: expected localhost or an IP address as its host, "
                + "0.0.0.0 for all"),
        };
        if (options.IsOpen && !IPAddress.IsLoopback(ip))
            throw new BadInputException($"'{url}' is reachable from other machines, and --open requires no API key: leave --open out and "
                + "create a key with 'hibp keys create NAME', or listen on http://127.0.0.1:PORT");
        return (new IPEndPoint(ip, address.Port), isHttps);
    }

    private static X509Certificate2? Certificate(WebServerOptions options)
    {
        if (options.CertificateFile is not { } file)
            return null;
        try
        {
            return X509Certificate2.CreateFromPemFile(file);
        }
        catch (Exception e) when (e is CryptographicException or IOException or UnauthorizedAccessException)
        {
            throw new BadInputException(
                $"{file}: expected a certificate and its key in PEM: {e.Message.ReplaceLineEndings(" ")}", e);
        }
    }
}

public sealed record WebServerOptions : ApiOptions
{
    public IReadOnlyList<string> Urls { get; init; } = [DefaultUrl];

    /// <summary>PEM file of the certificate and its key, for https addresses; these also accept HTTP/2.</summary>
    public string? CertificateFile { get; init; }
}

// Below warnings, the web framework logs paths, queries and headers, which contain accounts, once an operator lowers the log level.
internal sealed class FrameworkLogs(ILoggerFactory logs) : ILoggerFactory
{
    private const string OwnCategories = "HibpIngest.";

    // While a store is down it logs an error for each probe, and the probes need no key.
    private const string HealthChecks = "Microsoft.Extensions.Diagnostics.HealthChecks";

    public ILogger CreateLogger(string categoryName)
    {
        if (categoryName.StartsWith(HealthChecks, StringComparison.Ordinal))
            return NullLogger.Instance;
        var log = logs.CreateLogger(categoryName);
        return categoryName.StartsWith(OwnCategories, StringComparison.Ordinal) ? log : new WarningsOnly(log);
    }

    public void AddProvider(ILoggerProvider provider) => logs.AddProvider(provider);

    // The inner factory belongs to its creator.
    public void Dispose()
    {
    }

    private sealed class WarningsOnly(ILogger log) : ILogger
    {
        // Scopes contain the request's path.
        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull => null;

        public bool IsEnabled(LogLevel logLevel) => logLevel >= LogLevel.Warning && log.IsEnabled(logLevel);

        public void Log<TState>(
            LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
        {
            if (IsEnabled(logLevel))
                log.Log(logLevel, eventId, state, exception, formatter);
        }
    }
}
