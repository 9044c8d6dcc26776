namespace HibpIngest.Functions;

/// <summary>Sends callbacks to one client.</summary>
public sealed class DeliverCallbacksFunction(MessageDispatcher messages)
{
    [Function("DeliverCallbacks")]
    public Task RunAsync(
        [QueueTrigger(QueueNames.Callbacks, Connection = FunctionsAppSettings.BreachStorage)] QueueMessage message,
        CancellationToken cancellationToken) =>
        messages.DispatchAsync(QueueNames.Callbacks, message.Body.ToString(), cancellationToken);
}
