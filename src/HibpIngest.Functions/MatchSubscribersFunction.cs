namespace HibpIngest.Functions;

/// <summary>Matches a load against the subscribers.</summary>
public sealed class MatchSubscribersFunction(MessageDispatcher messages)
{
    [Function("MatchSubscribers")]
    public Task RunAsync(
        [QueueTrigger(QueueNames.Match, Connection = FunctionsAppSettings.BreachStorage)] QueueMessage message,
        CancellationToken cancellationToken) =>
        messages.DispatchAsync(QueueNames.Match, message.Body.ToString(), cancellationToken);
}
