using HibpIngest.Passwords.Appends;
using HibpIngest.Passwords.Import;
using HibpIngest.Passwords.Import.Drops;
using HibpIngest.Passwords.Releases;
using HibpIngest.Passwords.Replicas;
using HibpIngest.Passwords.Serving;
using HibpIngest.Pipeline.Settings;
using HibpIngest.Storage.Azure;
using HibpIngest.Storage.Azure.Connections;
using Microsoft.Extensions.DependencyInjection.Extensions;
using Microsoft.Extensions.Options;

namespace HibpIngest.Hosting;

public static class PasswordServices
{
    internal static readonly HttpClient Http =
        new(new SocketsHttpHandler { PooledConnectionLifetime = TimeSpan.FromMinutes(5) }) { Timeout = TimeSpan.FromSeconds(30) };

    /// <summary>
    /// Adds imports, appends, releases and replicas. The caller adds the storage account, the options, the clock and the logs. Replicas are
    /// opened on first use; opening them calls nothing.
    /// </summary>
    /// <param name="replicaStorage">Retries and timeouts of the replicas' accounts; null: those of the pipeline.</param>
    public static IServiceCollection AddHibpPasswords(this IServiceCollection services, StorageOptions? replicaStorage = null)
    {
        services.TryAddSingleton<PasswordStores>();
        return services
            .AddSingleton(provider => OpenHook(
                provider.GetRequiredService<IOptions<PasswordOptions>>().Value, provider.GetRequiredService<ILogger<PurgeHook>>()))
            .AddSingleton<PasswordReleases>()
            .AddSingleton(provider => ReplicaAccounts.Open(
                provider.GetRequiredService<StorageAccount>(), provider.GetRequiredService<IOptions<PasswordOptions>>().Value,
                provider.GetRequiredService<TimeProvider>(), provider.GetRequiredService<ILoggerFactory>(), replicaStorage))
            .AddSingleton(provider => new ReplicatedReleases(
                provider.GetRequiredService<PasswordReleases>(), provider.GetRequiredService<ReplicaAccounts>().Replicas))
            .AddSingleton<ImportPlans>().AddSingleton<ImportMessages>().AddSingleton<CompleteImport>()
            .AddSingleton<PlanImport>().AddSingleton<ImportGroup>().AddSingleton<SweepImports>()
            .AddSingleton<AppendPasswords>().AddSingleton<SweepAppends>()
            .AddSingleton(provider => new PurgeChanges(
                provider.GetRequiredService<PasswordStores>(), provider.GetRequiredService<PurgeHook>(),
                provider.GetRequiredService<IOptions<SiteOptions>>().Value.WebUrl))
            .AddTransient<ImportPasswords>().AddTransient<ExportPasswords>().AddTransient<RepackPasswords>()
            .AddTransient<ReplicatePasswords>().AddTransient<AppendReport>();
    }

    /// <exception cref="BadInputException">HIBP_PURGE_URL is not a URL.</exception>
    private static PurgeHook OpenHook(PasswordOptions options, ILogger<PurgeHook> log) => new(
        string.IsNullOrWhiteSpace(options.PurgeUrl) ? null
        : Uri.TryCreate(options.PurgeUrl, UriKind.Absolute, out var url) && url.Scheme is "http" or "https" ? url
        : throw new BadInputException("HIBP_PURGE_URL is expected to be an address, as https://HOST/PATH"),
        options.PurgeToken, Http, log);
}
