namespace HibpIngest.Functions;

/// <summary>Writes a load into the journal.</summary>
public sealed class LogLoadFunction(MessageDispatcher messages)
{
    [Function("LogLoad")]
    public Task RunAsync(
        [QueueTrigger(QueueNames.Journal, Connection = FunctionsAppSettings.BreachStorage)] QueueMessage message,
        CancellationToken cancellationToken) =>
        messages.DispatchAsync(QueueNames.Journal, message.Body.ToString(), cancellationToken);
}
