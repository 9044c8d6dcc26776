using HibpIngest.Errors;
using HibpIngest.Pipeline;
using HibpIngest.Stores;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Hosting;

/// <summary>
/// The stores, the options and the clock of one process, and what is made of them: the one place that knows which class
/// takes which port. Everything it makes is new each time, and keeps no more than its own state.
/// </summary>
public sealed record PipelineContext
{
    public required IBreachDatabase Database { get; init; }

    /// <summary>Of accounts and of their hashes, in every storage account of the store.</summary>
    public required IStoreTables Tables { get; init; }

    public required IStoreAccounts StoreAccounts { get; init; }

    public required IStoreRegister Register { get; init; }

    /// <summary>The register's hosts, over connections of their own.</summary>
    public required IHostSigns Signs { get; init; }

    public required IBreachBlobs Blobs { get; init; }

    public required ICatalogueBlobs Catalogue { get; init; }

    /// <summary>The account log.</summary>
    public required IAccountLogBlobs Log { get; init; }

    /// <summary>The same tables of accounts, to be read.</summary>
    public required ITableReads Reads { get; init; }

    /// <summary>The clients that are called back,</summary>
    public required ICallbackClients Clients { get; init; }

    /// <summary>the prefixes that they watch,</summary>
    public required IPrefixBlobs Prefixes { get; init; }

    /// <summary>and what they are called of.</summary>
    public required ICallbackBlobs Callbacks { get; init; }

    /// <summary>Calls them.</summary>
    public required ICallbackSender Caller { get; init; }

    public required IMessageQueues Queues { get; init; }

    public required INotificationSender Sender { get; init; }

    public required PipelineOptions Options { get; init; }

    /// <summary>Whose the mails are.</summary>
    public MailService Service { get; init; } = new();

    /// <summary>Seal what is kept secret in the stores; null: there are none.</summary>
    public SecretKeys? Keys { get; init; }

    /// <summary>What those who are not to be told are known by; null: there is none.</summary>
    public SuppressionKey? SuppressionKey { get; init; }

    /// <summary>Of archives; without a key they are held for this process only.</summary>
    public required ArchivePasswords Passwords { get; init; }

    public TimeProvider Time { get; init; } = TimeProvider.System;

    public required ILoggerFactory Logs { get; init; }

    /// <summary>
    /// Told of every message that is put off because a store is down, so that a one-off run can
    /// stop where waiting is no use (<see cref="StoreFullException"/>).
    /// </summary>
    public Action<PutOff>? OnPutOff { get; init; }

    private PipelineMessages Messages => new(Queues, Database, Database, Time);

    private LoadReports Reports => new(Database, Passwords, Logs);

    private LoadLeases Leases => new(Database, Database, Messages, Options, Time);

    private LogSchedule LogSchedule => new(Database, Database, Register, Messages, Options);

    private TellLog TellLog => new(NewLogLoad(), LogSchedule);

    private UpsertCompletion UpsertEnd => new(Database, Messages, LogSchedule, Reports);

    private MailSchedule Mails => new(Database, Messages, Reports, Options);

    /// <summary>Sends the messages by which clients are called.</summary>
    public CallSchedule Calls => new(Database, Database, Clients, Callbacks, Messages);

    private LoggedRows LoggedRows => new(Database, Database, Log);

    private BreachLoads BreachLoads => new(Database, Database);

    /// <summary>Takes messages to their stages: one a process, for one ingest runs in it at a time.</summary>
    /// <param name="setup">Makes sure of the stores before the first message, for a host that can't do so before it listens.</param>
    public PipelineDispatcher NewDispatcher(StoreSetup? setup = null)
    {
        var (messages, reports, leases, mails, log) = (Messages, Reports, Leases, Mails, Logs.CreateLogger<IngestBreach>());
        var runner = new StageRunner(messages, new LoadTrace(Database), Options, Logs.CreateLogger<StageRunner>(), setup, OnPutOff);
        var copy = new LoadCopy(Database, Database, Database, Register, Blobs, Passwords, leases, UpsertEnd, messages, Options, Time, log);
        var ingest = new IngestBreach(NewLoadStart(), leases, copy, Database, Register, reports, messages, Time, log);
        var match = new MatchSubscribers(
            Database, Database, Blobs, NewPublishCatalogue(), leases, mails, LogSchedule, Calls, reports, Options, Time,
            Logs.CreateLogger<MatchSubscribers>());
        var send = new SendNotifications(
            Database, Database, Database, Register, Tables, Sender, mails, reports, messages, Options, Service, Time,
            Logs.CreateLogger<SendNotifications>());
        return new PipelineDispatcher(
            runner, ingest, NewUpsertSlice(), match, send, NewLogLoad(), NewCallClients(), NewDeliverCallbacks(), NewLoadStart(), Blobs,
            setup);
    }

    public LogLoad NewLogLoad() => new(
        Database, Database, Database, Log, new SegmentCopy(Database, Log), LogSchedule, Options, Time, Logs.CreateLogger<LogLoad>());

    public UpsertSlice NewUpsertSlice() => new(
        Database, LoggedRows, Tables, Register, UpsertEnd, Reports, Messages, Options, Time,
        Logs.CreateLogger<UpsertSlice>());

    public CallClients NewCallClients() => new(
        Database, Database, LoggedRows, Clients, new WatchedPrefixes(Prefixes, Time), Callbacks, Keys, Register, Reads, Calls,
        Logs.CreateLogger<CallClients>());

    public PreviewCalls NewPreviewCalls() => new(
        Database, Database, Database, LoggedRows, Database, Clients, new WatchedPrefixes(Prefixes, Time));

    public CallbackOperations NewCallbackOperations() => new(Database, Clients, Callbacks, Register, Database, Calls);

    public DeliverCallbacks NewDeliverCallbacks() => new(
        Database, Clients, Callbacks, Keys, Caller, Calls, Options, Time, Logs.CreateLogger<DeliverCallbacks>());

    public LoadStart NewLoadStart() => new(Database, Register, Blobs, Messages, Options, Time, Logs.CreateLogger<IngestBreach>());

    public StoreSetup NewStoreSetup() => new(
        Database, Database, Register, StoreAccounts, Tables, Blobs, Log, Callbacks, Queues, NewPublishCatalogue(),
        NewApplySuppressions(), Options);

    public ApplySuppressions NewApplySuppressions() => new(Database, Register, SuppressionKey);

    public SubscriberOperations NewSubscriberOperations() => new(
        Database, Database, Register, NewApplySuppressions(), SuppressionKey, Time);

    public BlobScan NewBlobScan() => new(Blobs, NewLoadStart(), Time);

    public Sweep NewSweep() => new(
        Register, Database, Database, Database, Queues, NewBlobScan(), NewStoreSetup(), UpsertEnd, NewPublishCatalogue(), Mails,
        LogSchedule, Calls, Reports, Messages, Options, Time, Logs.CreateLogger<Sweep>());

    public LoadOperations NewLoadOperations() => new(
        Database, Database, Database, BreachLoads, Register, Blobs, Passwords, NewPublishCatalogue(), UpsertEnd, Mails,
        LogSchedule, TellLog, NewVerifyLog(), Messages, Options);

    public VerifyLog NewVerifyLog() => new(Database, Database, Log);

    public RepairLog NewRepairLog() => new(Database, Register, Log);

    public RepairRemoved NewRepairRemoved() => new(Log, Database, Database, Database, Tables, Options, Time);

    public MailOperations NewMailOperations() => new(
        Database, Database, Register, BreachLoads, Mails, Calls, Reports, Messages);

    public MoveOn NewMoveOn() => new(
        Database, Database, Database, Register, Blobs, Log, NewStoreSetup(), NewLoadStart(), NewRecoverLoads(), NewPublishCatalogue(),
        Messages, NewApplySuppressions(), Options);

    private RecoverLoads NewRecoverLoads() => new(
        Database, Database, Database, Database, Database, Register, Log, NewRemoveBreach(), Logs.CreateLogger<RecoverLoads>());

    public PoisonQueue NewPoisonQueue() => new(Queues);

    /// <param name="chunkRows">Rows worked on at once.</param>
    public RemoveBreach NewRemoveBreach(int chunkRows = RemoveBreach.ChunkRows) => new(
        Database, Database, NewPublishCatalogue(), Database, Database, Database, Register, Database, Log, Callbacks, Database, Tables,
        Options, Time, Logs.CreateLogger<RemoveBreach>(), chunkRows);

    public RemovalStatus NewRemovalStatus() => new(Database, Database);

    public PublishCatalogue NewPublishCatalogue() => new(
        Database, Register, Catalogue, Blobs, Options, Time, Logs.CreateLogger<PublishCatalogue>());

    public BreachOperations NewBreachOperations() => new(Database, NewPublishCatalogue(), LogSchedule, TellLog);

    public LayoutOperations NewLayoutOperations() => new(
        NewStoreSetup(), Database, Database, Register, Database, Database, Tables, Time);

    public RebuildLayout NewRebuildLayout() => new(
        NewStoreSetup(), NewLayoutOperations(), Database, Database, Register, Database, Database, Database, Database, Database, Tables,
        Log, Time, Logs.CreateLogger<RebuildLayout>());

    /// <param name="chunkRows">Rows of a part written at once.</param>
    public FillRanges NewFillRanges(int chunkRows = FillRanges.ChunkRows) => new(
        NewStoreSetup(), Database, Register, Database, Database, Database, Tables, Options, Time,
        Logs.CreateLogger<FillRanges>(), chunkRows);
}
