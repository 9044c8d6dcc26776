using Azure.Storage.Queues.Models;
using HibpIngest.Hosting;
using HibpIngest.Pipeline;
using Microsoft.Azure.Functions.Worker;

namespace HibpIngest.Functions;

/// <summary>Counts a sealed blob of the access log.</summary>
public sealed class RollUpAccessFunction(AccessWork access)
{
    [Function("RollUpAccess")]
    public Task RunAsync(
        [QueueTrigger(QueueNames.AccessRollUp, Connection = FunctionsAppSettings.BreachStorage)] QueueMessage message,
        CancellationToken cancellationToken) =>
        access.DispatchAsync(message.Body.ToString(), cancellationToken);
}
