using Azure.Storage.Queues.Models;
using HibpIngest.Hosting;
using HibpIngest.Pipeline;
using Microsoft.Azure.Functions.Worker;

namespace HibpIngest.Functions;

/// <summary>Matches a load with the subscribers.</summary>
public sealed class MatchSubscribersFunction(PipelineDispatcher pipeline)
{
    [Function("MatchSubscribers")]
    public Task RunAsync(
        [QueueTrigger(QueueNames.Match, Connection = FunctionsAppSettings.BreachStorage)] QueueMessage message,
        CancellationToken cancellationToken) =>
        pipeline.DispatchAsync(QueueNames.Match, message.Body.ToString(), cancellationToken);
}
