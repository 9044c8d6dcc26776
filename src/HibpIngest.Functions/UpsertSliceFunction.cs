namespace HibpIngest.Functions;

/// <summary>Upserts one slice.</summary>
public sealed class UpsertSliceFunction(MessageDispatcher messages)
{
    [Function("UpsertSlice")]
    public Task RunAsync(
        [QueueTrigger(QueueNames.Slices, Connection = FunctionsAppSettings.BreachStorage)] QueueMessage message,
        CancellationToken cancellationToken) =>
        messages.DispatchAsync(QueueNames.Slices, message.Body.ToString(), cancellationToken);
}
