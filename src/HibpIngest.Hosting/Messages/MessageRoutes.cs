using HibpIngest.Api.AccessLog.RollUp;
using HibpIngest.Passwords.Appends;
using HibpIngest.Passwords.Import.Drops;
using HibpIngest.Pipeline.Callbacks;
using HibpIngest.Pipeline.Ingest;
using HibpIngest.Pipeline.Journal;
using HibpIngest.Pipeline.Mail;
using HibpIngest.Pipeline.Matching;
using HibpIngest.Pipeline.Messaging;
using HibpIngest.Pipeline.Upsert;

namespace HibpIngest.Hosting.Messages;

/// <summary>A type of queue messages, the stage that processes them, and the role of the hosts that receive them.</summary>
public sealed record MessageRoute(Type Message, Type Stage, HostRoles Role)
{
    /// <summary>The queue that carries the messages.</summary>
    public string Queue { get; } = WorkMessage.QueueOf(Message);

    internal Func<IServiceProvider, string, CancellationToken, Task> DispatchAsync { get; init; } = null!;
}

/// <summary>The list of all message types and their stages.</summary>
public static class MessageRoutes
{
    /// <summary>All messages, in pipeline order.</summary>
    public static readonly IReadOnlyList<MessageRoute> All =
    [
        Leased<IngestMessage, IngestBreach, LoadLease>(HostRoles.Ingest),
        Leased<SliceMessage, UpsertSlice, SliceRun>(HostRoles.Upsert),
        Leased<MatchMessage, MatchSubscribers, LoadLease>(HostRoles.Notify),
        Leased<MailMessage, SendNotifications, MailRun>(HostRoles.Notify),
        Leased<JournalMessage, WriteJournal, JournalRun>(HostRoles.Log),
        Leased<CallMessage, CallClients, CallRun>(HostRoles.Call),
        Leased<CallbackMessage, DeliverCallbacks, CallbackRun>(HostRoles.Call),
        Simple<ImportMessage, ImportGroup>(HostRoles.Passwords),
        Simple<AppendMessage, AppendPasswords>(HostRoles.Passwords),
        Simple<AccessMessage, RollUpAccess>(HostRoles.Access),
    ];

    /// <summary>Returns the role that receives messages from a queue, as named in <see cref="Stores.Heartbeat.Roles"/>.</summary>
    /// <returns>Null: no stage receives messages from the queue.</returns>
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

/// <summary>Dispatches each message to its stage.</summary>
public sealed class MessageDispatcher(IServiceProvider services)
{
    /// <summary>Returns when the message's work is durably done, or the message is deferred; only then may it be deleted.</summary>
    /// <param name="queue">The queue that the message was received from.</param>
    /// <param name="cancellationToken">Stops the stage at a batch boundary.</param>
    /// <exception cref="UnreadableMessageException">The body is no message of that queue.</exception>
    public Task DispatchAsync(string queue, string body, CancellationToken cancellationToken) =>
        MessageRoutes.All.Single(route => route.Queue == queue).DispatchAsync(services, body, cancellationToken);
}
