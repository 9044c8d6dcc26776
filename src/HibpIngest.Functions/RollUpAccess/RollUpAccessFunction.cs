using HibpIngest.Hosting;
using HibpIngest.Pipeline;

namespace HibpIngest.Functions;

/// <summary>queueTrigger on <see cref="QueueNames.AccessRollUp"/>: counts an ended blob of the access log.</summary>
internal static class RollUpAccessFunction
{
    /// <summary>What the host calls it.</summary>
    public const string Name = "RollUpAccess";

    public static Task RunAsync(Invocation invocation, HandlerPipeline pipeline, CancellationToken cancellationToken) =>
        pipeline.Get<AccessWork>().DispatchAsync(invocation.QueueMessage(), cancellationToken);
}
