using Azure.Storage.Queues.Models;
using HibpIngest.Hosting.Messages;

namespace HibpIngest.Functions;

/// <summary>The functions of the queues: each passes a message to its stage.</summary>
public sealed class QueueFunctions(MessageDispatcher messages)
{
    private const string Storage = FunctionsAppSettings.BreachStorage;

    [Function("ResumeIngest")]
    public Task ResumeIngestAsync(
        [QueueTrigger(QueueNames.Ingest, Connection = Storage)] QueueMessage message, CancellationToken cancellationToken) =>
        DispatchAsync(QueueNames.Ingest, message, cancellationToken);

    [Function("UpsertSlice")]
    public Task UpsertSliceAsync(
        [QueueTrigger(QueueNames.Slices, Connection = Storage)] QueueMessage message, CancellationToken cancellationToken) =>
        DispatchAsync(QueueNames.Slices, message, cancellationToken);

    [Function("MatchSubscribers")]
    public Task MatchSubscribersAsync(
        [QueueTrigger(QueueNames.Match, Connection = Storage)] QueueMessage message, CancellationToken cancellationToken) =>
        DispatchAsync(QueueNames.Match, message, cancellationToken);

    [Function("SendNotifications")]
    public Task SendNotificationsAsync(
        [QueueTrigger(QueueNames.Mail, Connection = Storage)] QueueMessage message, CancellationToken cancellationToken) =>
        DispatchAsync(QueueNames.Mail, message, cancellationToken);

    [Function("LogLoad")]
    public Task WriteJournalAsync(
        [QueueTrigger(QueueNames.Log, Connection = Storage)] QueueMessage message, CancellationToken cancellationToken) =>
        DispatchAsync(QueueNames.Log, message, cancellationToken);

    [Function("CallClients")]
    public Task CallClientsAsync(
        [QueueTrigger(QueueNames.Calls, Connection = Storage)] QueueMessage message, CancellationToken cancellationToken) =>
        DispatchAsync(QueueNames.Calls, message, cancellationToken);

    [Function("DeliverCallbacks")]
    public Task DeliverCallbacksAsync(
        [QueueTrigger(QueueNames.Callbacks, Connection = Storage)] QueueMessage message, CancellationToken cancellationToken) =>
        DispatchAsync(QueueNames.Callbacks, message, cancellationToken);

    [Function("ImportPasswords")]
    public Task ImportPasswordsAsync(
        [QueueTrigger(QueueNames.PasswordsImport, Connection = Storage)] QueueMessage message, CancellationToken cancellationToken) =>
        DispatchAsync(QueueNames.PasswordsImport, message, cancellationToken);

    [Function("AppendPasswords")]
    public Task AppendPasswordsAsync(
        [QueueTrigger(QueueNames.PasswordsAppend, Connection = Storage)] QueueMessage message, CancellationToken cancellationToken) =>
        DispatchAsync(QueueNames.PasswordsAppend, message, cancellationToken);

    [Function("RollUpAccess")]
    public Task RollUpAccessAsync(
        [QueueTrigger(QueueNames.AccessRollUp, Connection = Storage)] QueueMessage message, CancellationToken cancellationToken) =>
        DispatchAsync(QueueNames.AccessRollUp, message, cancellationToken);

    private Task DispatchAsync(string queue, QueueMessage message, CancellationToken cancellationToken) =>
        messages.DispatchAsync(queue, message.Body.ToString(), cancellationToken);
}
