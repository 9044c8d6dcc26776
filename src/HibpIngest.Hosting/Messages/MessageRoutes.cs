using HibpIngest.Api.AccessLog.RollUp;
using HibpIngest.Passwords.Appends;
using HibpIngest.Passwords.Import.Drops;
using HibpIngest.People;
using HibpIngest.Pipeline.Callbacks;
using HibpIngest.Pipeline.Ingest;
using HibpIngest.Pipeline.Journal;
using HibpIngest.Pipeline.Mail;
using HibpIngest.Pipeline.Matching;
using HibpIngest.Pipeline.Messaging;
using HibpIngest.Pipeline.People;
using HibpIngest.Pipeline.Upsert;

namespace HibpIngest.Hosting.Messages;

/// <summary>A type of queue messages, the stage that processes them, and the role of the hosts that receive them.</summary>
public sealed record MessageRoute(Type Message, Type Stage, HostRoles Role)
{
    public string Queue { get; } = WorkMessage.QueueOf(Message);

    internal Func<IServiceProvider, string, CancellationToken, Task> DispatchAsync { get; init; } = null!;
}

public static class MessageRoutes
{
    public static readonly IReadOnlyList<MessageRoute> All =
    [
        Leased<IngestMessage, IngestBreach, LoadLease>(HostRoles.Ingest),
        Leased<SliceMessage, UpsertSlice, SliceRun>(HostRoles.Upsert),
        Leased<MatchMessage, MatchSubscribers, LoadLease>(HostRoles.Notify),
        Leased<MailMessage, SendNotifications, MailRun>(HostRoles.Notify),
        Leased<JournalMessage, WriteJournal, JournalRun>(HostRoles.Journal),
        Leased<CallbackSliceMessage, CallClients, CallRun>(HostRoles.Call),
        Leased<CallbackMessage, DeliverCallbacks, CallbackRun>(HostRoles.Call),
        Simple<ImportMessage, ImportGroup>(HostRoles.Passwords),
        Simple<AppendMessage, AppendPasswords>(HostRoles.Passwords),
        Simple<AccessMessage, RollUpAccess>(HostRoles.Access),
        Leaseless<CommandMessage, HandleCommand>(HostRoles.Notify),
    ];

    /// <summary>Returns the role that receives messages from a queue, as named in heartbeats; null if there is none.</summary>
    public static string? FindRole(string queue) =>
        All.FirstOrDefault(route => route.Queue == queue)?.Role.ToString().ToLowerInvariant();

    private static MessageRoute Leased<TMessage, TStage, TWork>(HostRoles role)
        where TMessage : PipelineMessage
        where TStage : IStage<TMessage, TWork>
        where TWork : class, IStageWork => new(typeof(TMessage), typeof(TStage), role)
        {
            DispatchAsync = (services, body, cancellationToken) => services.GetRequiredService<StageRunner>().RunAsync(
                WorkMessage.Parse<TMessage>(body), services.GetRequiredService<TStage>(), cancellationToken),
        };

    // Needs the database, but no lease.
    private static MessageRoute Leaseless<TMessage, TStage>(HostRoles role)
        where TMessage : WorkMessage
        where TStage : IMessageStage<TMessage> => new(typeof(TMessage), typeof(TStage), role)
        {
            DispatchAsync = (services, body, cancellationToken) =>
            {
                var runner = services.GetRequiredService<StageRunner>();
                return runner.RunAsync(WorkMessage.Parse<TMessage>(body), async message =>
                {
                    await runner.EnsureStoresAsync(cancellationToken);
                    await services.GetRequiredService<TStage>().RunAsync(message, cancellationToken);
                });
            },
        };

    private static MessageRoute Simple<TMessage, TStage>(HostRoles role)
        where TMessage : WorkMessage
        where TStage : IMessageStage<TMessage> => new(typeof(TMessage), typeof(TStage), role)
        {
            DispatchAsync = (services, body, cancellationToken) => services.GetRequiredService<StageRunner>().RunAsync(
                WorkMessage.Parse<TMessage>(body),
                message => services.GetRequiredService<ServingStores>().RunAsync(
                    token => services.GetRequiredService<TStage>().RunAsync(message, token), cancellationToken)),
        };
}

public sealed class MessageDispatcher(IServiceProvider services)
{
    /// <summary>Returns when the message's work is durably done, or the message is deferred; only then may it be deleted.</summary>
    /// <exception cref="UnreadableMessageException">The body is not a message of that queue.</exception>
    public Task DispatchAsync(string queue, string body, CancellationToken cancellationToken) =>
        MessageRoutes.All.Single(route => route.Queue == queue).DispatchAsync(services, body, cancellationToken);
}

/// <summary>The work that a host does; several hosts may share it.</summary>
[Flags]
public enum HostRoles
{
    None = 0,

    /// <summary>Finds dropped breaches, and ingests one at a time.</summary>
    Ingest = 1,

    Upsert = 2,

    /// <summary>Matches subscribers and sends mails.</summary>
    Notify = 4,

    /// <summary>Re-sends messages that were lost between two steps.</summary>
    Sweep = 8,

    /// <summary>Serves lookups; needs no database.</summary>
    Web = 16,

    Passwords = 32,
    Journal = 64,
    Access = 128,
    Call = 256,
    All = Ingest | Upsert | Notify | Sweep | Passwords | Journal | Access | Call,
}

/// <summary>Runs work on passwords and the access log, which need no database, once their stores are set up. Thread-safe.</summary>
public sealed class ServingStores(
    IPasswordBlobs passwords, IPasswordDrops drops, IPasswordAppends appends, IAccessBlobs access, IUsageTable usage, IMessageQueues queues)
{
    private readonly RunOnce _setUp = new(async cancellationToken =>
    {
        await passwords.CreateAsync(cancellationToken);
        await drops.CreateAsync(cancellationToken);
        await appends.CreateAsync(cancellationToken);
        await access.CreateAsync(cancellationToken);
        await usage.CreateAsync(cancellationToken);
        foreach (var route in MessageRoutes.All.Where(route => route.Role is HostRoles.Passwords or HostRoles.Access))
        {
            await queues.Get(route.Queue).CreateAsync(cancellationToken);
            await queues.Get(route.Queue + QueueNames.PoisonSuffix).CreateAsync(cancellationToken);
        }
    });

    /// <exception cref="NotPossibleException">The work found a damaged blob. The work fails; a <see cref="StoreMismatchException"/> would
    /// end the host, which has other work.</exception>
    public async Task RunAsync(Func<CancellationToken, Task> work, CancellationToken cancellationToken)
    {
        try
        {
            await _setUp.EnsureAsync(cancellationToken);
            await work(cancellationToken);
        }
        catch (StoreMismatchException e)
        {
            throw new NotPossibleException(e.Message);
        }
    }
}
