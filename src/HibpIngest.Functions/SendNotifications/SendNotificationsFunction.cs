using HibpIngest.Pipeline;

namespace HibpIngest.Functions;

/// <summary>queueTrigger on <see cref="QueueNames.Mail"/>: sends a range of a load's mails.</summary>
internal static class SendNotificationsFunction
{
    /// <summary>What the host calls it.</summary>
    public const string Name = "SendNotifications";

    public static Task RunAsync(Invocation invocation, HandlerPipeline pipeline, CancellationToken cancellationToken) =>
        pipeline.Get<PipelineDispatcher>().DispatchAsync(QueueNames.Mail, invocation.QueueMessage(), cancellationToken);
}
