namespace HibpIngest.Functions;

/// <summary>Imports one part of a dropped file of Pwned Passwords.</summary>
public sealed class ImportPasswordsFunction(MessageDispatcher messages)
{
    [Function("ImportPasswords")]
    public Task RunAsync(
        [QueueTrigger(QueueNames.PasswordsImport, Connection = FunctionsAppSettings.BreachStorage)] QueueMessage message,
        CancellationToken cancellationToken) =>
        messages.DispatchAsync(QueueNames.PasswordsImport, message.Body.ToString(), cancellationToken);
}
