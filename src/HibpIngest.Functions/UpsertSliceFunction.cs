using Azure.Storage.Queues.Models;
using HibpIngest.Hosting;
using HibpIngest.Pipeline;
using Microsoft.Azure.Functions.Worker;

namespace HibpIngest.Functions;

/// <summary>Upserts one slice.</summary>
public sealed class UpsertSliceFunction(PipelineDispatcher pipeline)
{
    [Function("UpsertSlice")]
    public Task RunAsync(
        [QueueTrigger(QueueNames.Slices, Connection = FunctionsAppSettings.BreachStorage)] QueueMessage message,
        CancellationToken cancellationToken) =>
        pipeline.DispatchAsync(QueueNames.Slices, message.Body.ToString(), cancellationToken);
}
