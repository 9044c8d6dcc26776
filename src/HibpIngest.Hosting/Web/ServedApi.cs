using HibpIngest.AzureStorage;
using HibpIngest.Errors;
using HibpIngest.Telemetry;
using HibpIngest.Web;
using Microsoft.AspNetCore.Builder;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Hosting.Web;

/// <summary>The API as every host serves it. While the host runs, what the API holds in memory is kept fresh.</summary>
public sealed partial class ServedApi : BackgroundService, IAsyncDisposable
{
    private readonly WebStores _stores;
    private readonly StorageAccount? _nearest;
    private readonly ILogger _log;
    private bool _isDisposed;

    /// <param name="stores">What it reads.</param>
    /// <param name="options">How it answers.</param>
    /// <param name="time">The clock.</param>
    /// <param name="logs">Where everything is logged.</param>
    /// <exception cref="BadInputException">HIBP_PASSWORDS_NEAREST is no connection.</exception>
    public ServedApi(WebStores stores, ServedApiOptions options, TimeProvider time, ILoggerFactory logs)
    {
        _log = logs.CreateLogger<ServedApi>();
        _nearest = WebFactory.OpenNearest(options.Passwords, logs);
        _stores = _nearest is null ? stores : stores with { NearestPasswords = WebFactory.PasswordsOf(_nearest) };
        Api = new WebApi(
            _stores, options.Web, options.Passwords, options.IsOpen,
            options.Address.StartsWith("https:", StringComparison.OrdinalIgnoreCase), options.IsAllDurable, time, logs);
    }

    internal WebApi Api { get; }

    /// <summary>Maps every address.</summary>
    public void Map(IApplicationBuilder app) => Api.Map(app);

    /// <summary>Called when no request is being answered any more: writes what is left of the access log.</summary>
    public async ValueTask DisposeAsync()
    {
        // A container disposes of it once for each service that it is.
        if (_isDisposed)
            return;
        _isDisposed = true;
        Dispose();
        await Api.DisposeAsync();
        _nearest?.Dispose();
    }

    /// <inheritdoc/>
    protected override Task ExecuteAsync(CancellationToken stoppingToken) => Task.WhenAll(
        RefreshAsync("catalogue", Api.Catalogue.RunAsync, stoppingToken), RefreshAsync("layout", _stores.Layout.RunAsync, stoppingToken),
        RefreshAsync("passwords", Api.Passwords.RunAsync, stoppingToken));

    /// <summary>Logs a fault; the process keeps serving what it has read.</summary>
    private async Task RefreshAsync(string what, Func<CancellationToken, Task> run, CancellationToken stoppingToken)
    {
        try
        {
            await Task.Run(() => run(stoppingToken), stoppingToken);
        }
        catch (Exception e) when (!stoppingToken.IsCancellationRequested)
        {
            LogEnded(what, UnexpectedError.Describe(e));
        }
    }

    [LoggerMessage(EventIds.ServedApiRefreshEnded, LogLevel.Critical,
        "{What}: no longer refreshed, restart the process to resume: {Reason}")]
    private partial void LogEnded(string what, string reason);
}

/// <summary>Adds the API to a host.</summary>
public static class ApiServices
{
    /// <summary>Adds the API. The caller adds its <see cref="WebStores"/>, the clock and the logs.</summary>
    public static IServiceCollection AddHibpApi(this IServiceCollection services, ServedApiOptions options)
    {
        services.AddSingleton(options).AddSingleton<ServedApi>();
        services.AddHostedService(provider => provider.GetRequiredService<ServedApi>());
        return WebApi.AddServices(services, provider => provider.GetRequiredService<ServedApi>().Api, options.Address);
    }
}
