namespace HibpIngest.Functions;

/// <summary>Sends a range of a load's mails.</summary>
public sealed class SendNotificationsFunction(MessageDispatcher messages)
{
    [Function("SendNotifications")]
    public Task RunAsync(
        [QueueTrigger(QueueNames.Mail, Connection = FunctionsAppSettings.BreachStorage)] QueueMessage message,
        CancellationToken cancellationToken) =>
        messages.DispatchAsync(QueueNames.Mail, message.Body.ToString(), cancellationToken);
}
