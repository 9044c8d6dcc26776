namespace HibpIngest.Functions;

/// <summary>Aggregates a sealed blob of the access log into the usage table.</summary>
public sealed class RollUpAccessFunction(MessageDispatcher messages)
{
    [Function("RollUpAccess")]
    public Task RunAsync(
        [QueueTrigger(QueueNames.AccessRollUp, Connection = FunctionsAppSettings.BreachStorage)] QueueMessage message,
        CancellationToken cancellationToken) =>
        messages.DispatchAsync(QueueNames.AccessRollUp, message.Body.ToString(), cancellationToken);
}
