using System.Collections;
using HibpIngest.AzureStorage;
using HibpIngest.Hosting;
using HibpIngest.Hosting.Web;
using HibpIngest.Telemetry;
using HibpIngest.Web;

namespace HibpIngest.Functions;

/// <summary>The API in the Functions app, with its stores; or what is wrong with the settings, told by every answer.</summary>
internal sealed partial class HandlerWeb : IAsyncDisposable
{
    private readonly Parts? _parts;
    private readonly ErrorAnswer _error;

    private HandlerWeb(Parts? parts, string error) =>
        (_parts, _error) = (parts, new ErrorAnswer(StatusCodes.Status503ServiceUnavailable, error));

    /// <summary>Reads the settings and opens the stores; only reading the catalogue has begun.</summary>
    /// <param name="environment">The app settings.</param>
    /// <param name="time">The clock.</param>
    /// <param name="logs">Where everything is logged.</param>
    public static HandlerWeb Open(IDictionary environment, TimeProvider time, HandlerLogs logs)
    {
        var (parts, error) = HandlerOpening.Open(environment, logs, HandlerSettings.ReadWeb, settings => OpenParts(settings, time, logs));
        return new HandlerWeb(parts, error);
    }

    /// <summary>What it needs of the server, before that is built.</summary>
    public void AddServices(IServiceCollection services) => _parts?.Api.AddServices(services);

    /// <summary>Maps the API and nothing else.</summary>
    public void Map(WebApplication app)
    {
        if (_parts is not null)
            _parts.Api.Map(app);
        else
            app.Run(context => _error.WriteAsync(context.Response));
    }

    public async ValueTask DisposeAsync()
    {
        if (_parts is null)
            return;
        await _parts.Api.DisposeAsync();
        _parts.Account.Dispose();
    }

    private static Parts OpenParts(PipelineSettings settings, TimeProvider time, HandlerLogs logs)
    {
        var account = StorageAccount.Open(settings.Storage, logs.Factory, WebFactory.Storage, settings.FurtherStorage);
        LogSettings(
            logs.Factory.CreateLogger<HandlerWeb>(), account.DisplayName, settings.Options.WebUrl, settings.Web.DomainMax,
            settings.Web.Proxies, settings.Web.TestAccounts ?? false);
        // Whoever reaches the app is anybody: never open.
        return new Parts(
            account, new ServedApi(
                WebFactory.StoresOf(account, time, logs.Factory), settings.Web, settings.Passwords, isOpen: false,
                settings.Options.WebUrl, isAllDurable: true, time, logs.Factory));
    }

    private sealed record Parts(StorageAccount Account, ServedApi Api);

    [LoggerMessage(EventIds.HandlerWebSettings, LogLevel.Information,
        "storage {Storage}, HIBP_WEB_URL={WebUrl}, HIBP_DOMAINMAX={DomainMax}, HIBP_PROXIES={Proxies}, HIBP_TESTACCOUNTS={TestAccounts}")]
    private static partial void LogSettings(
        ILogger log, string storage, string webUrl, int domainMax, int proxies, bool testAccounts);
}
