using Azure.Storage.Queues.Models;
using HibpIngest.Hosting;
using HibpIngest.Pipeline;
using Microsoft.Azure.Functions.Worker;

namespace HibpIngest.Functions;

/// <summary>Adds submitted hashes to Pwned Passwords.</summary>
public sealed class AppendPasswordsFunction(PasswordWork passwords)
{
    [Function("AppendPasswords")]
    public Task RunAsync(
        [QueueTrigger(QueueNames.PasswordsAppend, Connection = FunctionsAppSettings.BreachStorage)] QueueMessage message,
        CancellationToken cancellationToken) =>
        passwords.DispatchAsync(QueueNames.PasswordsAppend, message.Body.ToString(), cancellationToken);
}
