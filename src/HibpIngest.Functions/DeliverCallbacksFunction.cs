using Azure.Storage.Queues.Models;
using HibpIngest.Hosting;
using HibpIngest.Pipeline;
using Microsoft.Azure.Functions.Worker;

namespace HibpIngest.Functions;

/// <summary>Calls a client.</summary>
public sealed class DeliverCallbacksFunction(PipelineDispatcher pipeline)
{
    [Function("DeliverCallbacks")]
    public Task RunAsync(
        [QueueTrigger(QueueNames.Callbacks, Connection = FunctionsAppSettings.BreachStorage)] QueueMessage message,
        CancellationToken cancellationToken) =>
        pipeline.DispatchAsync(QueueNames.Callbacks, message.Body.ToString(), cancellationToken);
}
