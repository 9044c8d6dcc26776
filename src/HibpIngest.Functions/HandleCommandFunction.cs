namespace HibpIngest.Functions;

/// <summary>Applies people's commands.</summary>
public sealed class HandleCommandFunction(MessageDispatcher messages)
{
    [Function("HandleCommand")]
    public Task RunAsync(
        [QueueTrigger(QueueNames.Commands, Connection = FunctionsAppSettings.BreachStorage)] QueueMessage message,
        CancellationToken cancellationToken) =>
        messages.DispatchAsync(QueueNames.Commands, message.Body.ToString(), cancellationToken);
}
