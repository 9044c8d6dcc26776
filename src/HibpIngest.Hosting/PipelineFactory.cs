using HibpIngest.AzureStorage;
using HibpIngest.Delivery;
using HibpIngest.Errors;
using HibpIngest.Pipeline;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Hosting;

/// <summary>Makes what the stages work with from the settings.</summary>
public static partial class PipelineFactory
{
    /// <summary>Opens everything; calls nothing.</summary>
    public static OpenPipeline Open(
        PipelineSettings settings, TimeProvider time, ILoggerFactory logs, Action<StoreUnavailableException>? onPutOff = null)
    {
        var account = StorageAccount.Open(settings.Storage, logs);
        var database = DatabaseFactory.Open(settings.Database, time, logs);
        LogSettings(logs.CreateLogger("HibpIngest.Hosting"), account.DisplayName, database.DisplayName, settings.Describe());
        return new OpenPipeline(account, new PipelineContext
        {
            Database = database,
            Table = account.Table,
            AccountPages = account.AccountPages,
            Ranges = account.Ranges,
            Register = account.Register,
            Blobs = account.Blobs,
            Catalogue = account.Catalogue,
            Queues = account.Queues,
            Sender = NotificationSenders.Create(settings.Mail, time),
            Options = settings.Options,
            Passwords = new ArchivePasswords(database, database, settings.SecretKey),
            Time = time,
            Logs = logs,
            OnPutOff = onPutOff,
        });
    }

    [LoggerMessage(EventIds.PipelineFactorySettings, LogLevel.Information, "storage {Storage}, database {Database}, {Options}")]
    private static partial void LogSettings(ILogger log, string storage, string database, string options);
}
