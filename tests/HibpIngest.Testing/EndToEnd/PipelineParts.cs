using HibpIngest.Delivery;
using HibpIngest.Hosting.Messages;
using HibpIngest.People;
using HibpIngest.Pipeline;
using HibpIngest.Pipeline.Callbacks;
using HibpIngest.Pipeline.Layouts;
using HibpIngest.Pipeline.Mail;
using HibpIngest.Pipeline.Messaging;
using HibpIngest.Pipeline.Removal;
using HibpIngest.Storage.Sql;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Testing;

/// <summary>One process's stores, keys, options and clock, with the product's services; a with-expression replaces a part.</summary>
internal sealed record PipelineParts
{
    public required IBreachDatabase Database { get; init; }

    public required IStoreTables Tables { get; init; }

    public required IStorageAccounts StoreAccounts { get; init; }

    public required IStoreRegister Register { get; init; }

    public required IHeartbeats Heartbeats { get; init; }

    public required IBreachBlobs Blobs { get; init; }

    public required ICatalogueBlobs Catalogue { get; init; }

    public required IJournalBlobs Log { get; init; }

    public required ICallbackClients Clients { get; init; }

    public required IApiKeys ApiKeys { get; init; }

    public required ISignIns SignIns { get; init; }

    public IDomainRecords Records { get; init; } = new DomainRecords(null);

    public required IPrefixBlobs Prefixes { get; init; }

    public required ICallbackBlobs Callbacks { get; init; }

    public required ICallbackSender Caller { get; init; }

    public required IMessageQueues Queues { get; init; }

    public required INotificationSender Sender { get; init; }

    public required TestOptions Options { get; init; }

    public MailService Service { get; init; } = new();

    public SecretKeys? Keys { get; init; }

    public SuppressionKey? SuppressionKey { get; init; }

    public LinkTokens? Links { get; init; }

    public CommandKey? Commands { get; init; }

    /// <summary>Passwords given to this process only, kept in its memory.</summary>
    public required ArchivePasswords Passwords { get; init; }

    public TimeProvider Time { get; init; } = TimeProvider.System;

    public required ILoggerFactory Logs { get; init; }

    public Action<DeferredMessage>? OnDeferred { get; init; }

    public CallSchedule Calls => Get<CallSchedule>();

    public IServiceProvider Services => AddTo(new ServiceCollection()).BuildServiceProvider();

    public IServiceCollection AddTo(IServiceCollection services)
    {
        var deferrals = new Deferrals();
        if (OnDeferred is not null)
            deferrals.Subscribe(OnDeferred);
        return Options.AddTo(services)
            .AddHibpPipeline().AddPipelineSweep().AddSingleton<MessageDispatcher>()
            .AddSingleton(Database).AddDatabasePorts()
            .AddSingleton(Register).AddRegisterPorts().AddSingleton(Heartbeats)
            .AddSingleton(Tables).AddSingleton(StoreAccounts)
            .AddSingleton(Blobs).AddSingleton(Catalogue).AddSingleton(Log)
            .AddSingleton(ApiKeys).AddSingleton(SignIns).AddSingleton(Records)
            .AddSingleton(Clients).AddSingleton(Prefixes).AddSingleton(Callbacks).AddSingleton(Caller)
            .AddSingleton(Queues).AddSingleton(Sender)
            .AddSingleton(Service).AddSingleton(new InstallationKeys(Keys, SuppressionKey, Links, Commands))
            .AddSingleton(Passwords)
            .AddSingleton(deferrals).AddSingleton(Time).AddSingleton(Logs).AddSingleton(typeof(ILogger<>), typeof(Logger<>));
    }

    public static PipelineParts Of(
        StorageAccount account, IBreachDatabase database, INotificationSender sender, TestOptions options, ILoggerFactory logs,
        SecretKeys? keys = null) => new()
        {
            Database = database,
            Tables = account.Tables,
            StoreAccounts = account.StoreAccounts,
            Register = account.Register,
            Heartbeats = account.Heartbeats,
            Blobs = account.Blobs,
            Catalogue = account.Catalogue,
            Log = account.JournalBlobs,
            Clients = account.Clients,
            ApiKeys = account.Keys,
            SignIns = account.SignIns,
            Prefixes = account.Prefixes,
            Callbacks = account.Callbacks,
            Queues = account.Queues,
            Sender = sender,
            Caller = new CallbackSender(TimeProvider.System, options.Callbacks.CallLoopback),
            Options = options,
            Keys = keys,
            Passwords = new ArchivePasswords(database, new InstallationKeys(keys, null)),
            Logs = logs,
        };

    /// <param name="arguments">Constructor arguments in addition to the services.</param>
    public T Get<T>(params object[] arguments)
        where T : class => arguments.Length == 0 && Services is var services
            ? services.GetRequiredService<T>() : ActivatorUtilities.CreateInstance<T>(Services, arguments);

    public RemoveBreach GetRemoveBreach(int rowsAtOnce) => Get<RemoveBreach>(Get<RemoveMarks>(rowsAtOnce));

    public FillRanges GetFillRanges(int rowsAtOnce) => Get<FillRanges>(Get<CopyToRanges>(rowsAtOnce));
}
