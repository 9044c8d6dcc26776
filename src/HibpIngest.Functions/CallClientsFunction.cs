namespace HibpIngest.Functions;

/// <summary>Searches a slice for prefixes that clients watch.</summary>
public sealed class CallClientsFunction(MessageDispatcher messages)
{
    [Function("CallClients")]
    public Task RunAsync(
        [QueueTrigger(QueueNames.Calls, Connection = FunctionsAppSettings.BreachStorage)] QueueMessage message,
        CancellationToken cancellationToken) =>
        messages.DispatchAsync(QueueNames.Calls, message.Body.ToString(), cancellationToken);
}
