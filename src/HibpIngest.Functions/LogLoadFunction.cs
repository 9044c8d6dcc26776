using Azure.Storage.Queues.Models;
using HibpIngest.Hosting;
using HibpIngest.Hosting.Messages;

namespace HibpIngest.Functions;

/// <summary>Writes a load into the account log.</summary>
public sealed class LogLoadFunction(MessageDispatcher messages)
{
    [Function("LogLoad")]
    public Task RunAsync(
        [QueueTrigger(QueueNames.Log, Connection = FunctionsAppSettings.BreachStorage)] QueueMessage message,
        CancellationToken cancellationToken) =>
        messages.DispatchAsync(QueueNames.Log, message.Body.ToString(), cancellationToken);
}
