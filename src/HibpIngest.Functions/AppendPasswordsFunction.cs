namespace HibpIngest.Functions;

/// <summary>Adds submitted hashes to Pwned Passwords.</summary>
public sealed class AppendPasswordsFunction(MessageDispatcher messages)
{
    [Function("AppendPasswords")]
    public Task RunAsync(
        [QueueTrigger(QueueNames.PasswordsAppend, Connection = FunctionsAppSettings.BreachStorage)] QueueMessage message,
        CancellationToken cancellationToken) =>
        messages.DispatchAsync(QueueNames.PasswordsAppend, message.Body.ToString(), cancellationToken);
}
