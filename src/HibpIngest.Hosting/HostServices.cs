using HibpIngest.AzureStorage;
using HibpIngest.Delivery;
using HibpIngest.Errors;
using HibpIngest.Pipeline;
using HibpIngest.Sql;
using HibpIngest.Stores;
using HibpIngest.Telemetry;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Hosting;

/// <summary>Makes a host's services from its settings.</summary>
public static partial class HostServices
{
    /// <summary>Adds the stores, the stages and operations, and what sends mails and calls clients.</summary>
    /// <param name="services">Those of a host or of a command.</param>
    /// <param name="settings">What it was told.</param>
    /// <param name="time">The clock.</param>
    /// <param name="logs">Where everything is logged; stays the caller's.</param>
    /// <param name="storage">How patiently the storage account is asked; null: as the pipeline does.</param>
    /// <param name="setsUpStores">As for <see cref="PipelineServices.AddHibpPipeline"/>.</param>
    public static IServiceCollection AddHibp(
        this IServiceCollection services, PipelineSettings settings, TimeProvider time, ILoggerFactory logs, StorageOptions? storage = null,
        bool setsUpStores = false)
    {
        services.AddSingleton(time).AddSingleton(logs).AddSingleton(typeof(ILogger<>), typeof(Logger<>));
        services.AddSingleton(settings).AddSingleton(settings.Options).AddSingleton(settings.Service);
        services.AddSingleton(_ => new InstallationKeys(settings.OpenSecretKeys(), settings.OpenSuppressionKey()));
        return services.AddHibpStorage(settings.Storage, settings.FurtherStorage, settings.LogStorage, storage)
            .AddHibpDatabase(settings.Database)
            .AddHibpDelivery(settings.Mail, settings.Options.CallLoopback)
            .AddHibpPipeline(setsUpStores)
            .AddSingleton(provider => PasswordWork.Open(
                provider.GetRequiredService<StorageAccount>(), settings.Passwords, settings.Options.WebUrl, time, logs))
            .AddSingleton(provider => AccessWork.Open(provider.GetRequiredService<StorageAccount>(), settings.Options, time, logs));
    }

    /// <summary>
    /// Opens the stores and senders that the settings name, without calling them, so that a wrong setting is reported at once.
    /// Disposing the provider closes them.
    /// </summary>
    /// <exception cref="BadInputException">A setting is wrong; the message names it.</exception>
    public static ServiceProvider OpenHibp(this IServiceCollection services)
    {
        var provider = services.BuildServiceProvider();
        try
        {
            var (account, database) = (provider.GetRequiredService<StorageAccount>(), provider.GetRequiredService<IBreachDatabase>());
            _ = provider.GetRequiredService<IAccountLogBlobs>();
            _ = provider.GetRequiredService<INotificationSender>();
            _ = provider.GetRequiredService<InstallationKeys>();
            LogSettings(
                provider.GetRequiredService<ILoggerFactory>().CreateLogger("HibpIngest.Hosting"), account.DisplayName, database.DisplayName,
                provider.GetRequiredService<PipelineSettings>().Describe());
            return provider;
        }
        catch
        {
            // None of them has been used: nothing is waited for.
            _ = provider.DisposeAsync();
            throw;
        }
    }

    [LoggerMessage(EventIds.HostServicesSettings, LogLevel.Information, "storage {Storage}, database {Database}, {Options}")]
    private static partial void LogSettings(ILogger log, string storage, string database, string options);
}
