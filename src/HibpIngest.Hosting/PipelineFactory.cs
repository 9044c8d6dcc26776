using HibpIngest.AzureStorage;
using HibpIngest.Delivery;
using HibpIngest.Errors;
using HibpIngest.Pipeline;
using HibpIngest.Stores;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Hosting;

/// <summary>Makes what the stages work with from the settings.</summary>
public static partial class PipelineFactory
{
    /// <summary>Opens everything; calls nothing.</summary>
    public static OpenPipeline Open(
        PipelineSettings settings, TimeProvider time, ILoggerFactory logs, Action<PutOff>? onPutOff = null,
        StorageOptions? storage = null)
    {
        var account = StorageAccount.Open(settings.Storage, logs, storage, settings.FurtherStorage);
        var logAccount = settings.LogStorage is { } logStorage ? StorageAccount.Open(logStorage, logs) : null;
        var database = DatabaseFactory.Open(settings.Database, time, logs);
        LogSettings(logs.CreateLogger("HibpIngest.Hosting"), account.DisplayName, database.DisplayName, settings.Describe());
        var sender = NotificationSenders.Create(settings.Mail, time);
        var context = ContextOf(account, database, sender, settings.Options, logs, settings.OpenSecretKeys());
        context = context with
        {
            Time = time,
            SuppressionKey = settings.OpenSuppressionKey(),
            Service = settings.Service,
            OnPutOff = onPutOff,
            Log = (logAccount ?? account).AccountLog,
            Caller = new CallbackSender(time, settings.Options.CallLoopback),
        };
        return new OpenPipeline(account, logAccount, context);
    }

    /// <summary>The stores of one storage account beside a database: the one place that names each of them.</summary>
    public static PipelineContext ContextOf(
        StorageAccount account, IBreachDatabase database, INotificationSender sender, PipelineOptions options, ILoggerFactory logs,
        SecretKeys? keys = null) => new()
        {
            Database = database,
            Tables = account.Tables,
            StoreAccounts = account.StoreAccounts,
            Register = account.Register,
            Signs = account.Signs,
            Blobs = account.Blobs,
            Catalogue = account.Catalogue,
            Log = account.AccountLog,
            Reads = account.TableReads,
            Clients = account.Clients,
            Prefixes = account.Prefixes,
            Callbacks = account.Callbacks,
            Queues = account.Queues,
            Sender = sender,
            Caller = new CallbackSender(TimeProvider.System, options.CallLoopback),
            Options = options,
            Keys = keys,
            Passwords = new ArchivePasswords(database, database, keys),
            Logs = logs,
        };

    [LoggerMessage(EventIds.PipelineFactorySettings, LogLevel.Information, "storage {Storage}, database {Database}, {Options}")]
    private static partial void LogSettings(ILogger log, string storage, string database, string options);
}
