namespace HibpIngest.Testing;

internal static class MessageStages
{
    /// <summary>Runs a stage for a message body as it is in a queue.</summary>
    public static Task RunAsync<TMessage>(this IMessageStage<TMessage> stage, string body, CancellationToken cancellationToken)
        where TMessage : WorkMessage => stage.RunAsync(WorkMessage.Parse<TMessage>(body), cancellationToken);
}
