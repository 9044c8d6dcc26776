using HibpIngest.Api;
using HibpIngest.Api.Settings;
using HibpIngest.Delivery;
using HibpIngest.Hosting.Web;
using HibpIngest.Passwords.Serving;
using HibpIngest.Pipeline.Settings;
using HibpIngest.Storage.Azure;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.HttpOverrides;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Azure.Functions.Worker.Builder;

namespace HibpIngest.Functions.Api;

/// <summary>The Azure Functions app of the API: an isolated worker, to which the Functions host forwards every request.</summary>
internal static partial class Program
{
    private static async Task Main(string[] args)
    {
        var builder = FunctionsApplication.CreateBuilder(args).ConfigureFunctionsWebApplication();
        var app = new FunctionsApp(builder, FunctionsAppSettings.ReadApi, AddApi, Open);
        // While a store is down it logs an error for each probe, and the probes need no key.
        builder.Logging.AddFilter("Microsoft.Extensions.Diagnostics.HealthChecks", LogLevel.None);
        builder.Services.AddSingleton<ApiRequests>();
        builder.Services.Configure<KestrelServerOptions>(WebServer.Limit);
        // HIBP_PROXIES determines which entry of X-Forwarded-For is the caller's address.
        builder.Services.PostConfigure<ForwardedHeadersOptions>(options => options.ForwardedHeaders = ForwardedHeaders.None);
        await app.RunAsync(builder.Build());
    }

    private static void AddApi(IServiceCollection services, PipelineSettings settings) => services
        .AddSingleton(TimeProvider.System)
        .AddSingleton(settings)
        .AddHibpDns(settings.Dns)
        .AddHibpApiStorage(settings.Storage, settings.AdditionalStorage, settings.Get<PasswordOptions>().PasswordsNearest)
        .AddHibpApi(new ApiOptions
        {
            Address = settings.Get<SiteOptions>().WebUrl,
            IsAllDurable = true,
            Web = settings.Get<WebOptions>(),
            Passwords = settings.Get<PasswordOptions>(),
        });

    private static void Open(IServiceProvider services)
    {
        _ = services.GetRequiredService<IPasswordRanges>();
        var (account, options) = (services.GetRequiredService<StorageAccount>(), services.GetRequiredService<ApiOptions>());
        LogSettings(
            services.GetRequiredService<ILogger<ApiOptions>>(), account.DisplayName, options.Address, options.Web.DomainMax,
            options.Web.Proxies, options.Web.TestAccounts ?? false);
    }

    [LoggerMessage(
        EventIds.ApiAppSettings, LogLevel.Information,
        "settings: storage {Storage}, HIBP_WEB_URL={WebUrl}, HIBP_DOMAINMAX={DomainMax}, HIBP_PROXIES={Proxies}, "
        + "HIBP_TESTACCOUNTS={TestAccounts}")]
    private static partial void LogSettings(ILogger log, string storage, string webUrl, int domainMax, int proxies, bool testAccounts);
}
