using HibpIngest.Api.AccessLog.RollUp;
using HibpIngest.Delivery;
using HibpIngest.Pipeline;
using HibpIngest.Storage.Azure.Connections;
using HibpIngest.Storage.Sql;
using Microsoft.Extensions.DependencyInjection.Extensions;

namespace HibpIngest.Hosting;

public static partial class HostServices
{
    /// <summary>Adds the pipeline with its stores, senders and sweeps; also the system's clock and logging, unless present.</summary>
    /// <param name="storage">Retries and timeouts of the storage account; if null, the defaults.</param>
    /// <param name="setsUpStores">As for <see cref="PipelineServices.AddHibpPipeline"/>.</param>
    public static IServiceCollection AddHibp(
        this IServiceCollection services, PipelineSettings settings, StorageOptions? storage = null, bool setsUpStores = false)
    {
        services.TryAddSingleton(TimeProvider.System);
        services.AddLogging();
        services.AddSingleton(settings).AddHibpOptions(settings.Variables).AddSingleton(settings.Service);
        services.AddSingleton(_ => settings.OpenKeys());
        var sweep = settings.Get<SweepOptions>();
        return services.AddHibpStorage(settings.Storage, settings.AdditionalStorage, settings.JournalStorage, storage)
            .AddHibpDatabase(settings.Database)
            .AddHibpDelivery(settings.Mail, settings.Get<CallbackOptions>().CallLoopback)
            .AddHibpDns(settings.Dns)
            .AddHibpPipeline(setsUpStores)
            .AddHibpPasswords()
            .AddSingleton<ServingStores>().AddSingleton<RollUpAccess>()
            .AddSingleton(provider => new SweepAccessLog(
                provider.GetRequiredService<IAccessBlobs>(), provider.GetRequiredService<IMessageQueues>(),
                sweep.AccessLogDays == 0 ? null : TimeSpan.FromDays(sweep.AccessLogDays),
                provider.GetRequiredService<TimeProvider>(), provider.GetRequiredService<ILogger<SweepAccessLog>>()))
            .AddSingleton<MessageDispatcher>().AddPipelineSweep().AddRequestSweep().AddSweepsWithoutDatabase(sweep.SweepBlobAge);
    }

    /// <summary>Builds the provider, and opens its stores and senders without calling them: a wrong setting is reported at once.</summary>
    /// <exception cref="BadInputException">A setting is wrong; the message names it.</exception>
    public static ServiceProvider OpenHibp(this IServiceCollection services) => services.Open(OpenStores);

    internal static ServiceProvider Open(this IServiceCollection services, Action<IServiceProvider> open)
    {
        var provider = services.BuildServiceProvider();
        try
        {
            open(provider);
            return provider;
        }
        catch
        {
            _ = provider.DisposeAsync(); // this method isn't asynchronous
            throw;
        }
    }

    /// <summary>Opens the stores, the sender and the keys of a host's provider, and logs the settings.</summary>
    public static void OpenStores(this IServiceProvider services)
    {
        var errors = new SettingsErrors();
        var account = errors.Try(services.GetRequiredService<StorageAccount>);
        var database = errors.Try(services.GetRequiredService<IBreachDatabase>);
        if (account is not null)
            errors.Try(services.GetRequiredService<IJournalBlobs>);
        errors.Try(services.GetRequiredService<INotificationSender>);
        var settings = services.GetRequiredService<PipelineSettings>();
        errors.Try(settings.OpenSecretKeys);
        errors.Try(settings.OpenSuppressionKey);
        errors.Try(settings.OpenCommandKey);
        if (account is not null)
        {
            errors.Try(services.GetRequiredService<PurgeHook>);
            errors.Try(services.GetRequiredService<ReplicaAccounts>);
        }
        errors.ThrowIfAny();
        LogSettings(
            services.GetRequiredService<ILoggerFactory>().CreateLogger("HibpIngest.Hosting"), account!.DisplayName, database!.DisplayName,
            settings.Describe());
    }

    [LoggerMessage(EventIds.HostServicesSettings, LogLevel.Information, "settings: storage {Storage}, database {Database}, {Options}")]
    private static partial void LogSettings(ILogger log, string storage, string database, string options);
}
