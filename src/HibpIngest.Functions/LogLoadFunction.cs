using Azure.Storage.Queues.Models;
using HibpIngest.Hosting;
using HibpIngest.Pipeline;
using Microsoft.Azure.Functions.Worker;

namespace HibpIngest.Functions;

/// <summary>Writes a load into the account log.</summary>
public sealed class LogLoadFunction(PipelineDispatcher pipeline)
{
    [Function("LogLoad")]
    public Task RunAsync(
        [QueueTrigger(QueueNames.Log, Connection = FunctionsAppSettings.BreachStorage)] QueueMessage message,
        CancellationToken cancellationToken) =>
        pipeline.DispatchAsync(QueueNames.Log, message.Body.ToString(), cancellationToken);
}
