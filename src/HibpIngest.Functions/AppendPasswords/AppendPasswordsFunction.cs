using HibpIngest.Hosting;
using HibpIngest.Pipeline;

namespace HibpIngest.Functions;

/// <summary>queueTrigger on <see cref="QueueNames.PasswordsAppend"/>: adds what was sent to Pwned Passwords.</summary>
internal static class AppendPasswordsFunction
{
    /// <summary>What the host calls it.</summary>
    public const string Name = "AppendPasswords";

    public static Task RunAsync(Invocation invocation, HandlerPipeline pipeline, CancellationToken cancellationToken) =>
        pipeline.Get<PasswordWork>().DispatchAsync(QueueNames.PasswordsAppend, invocation.QueueMessage(), cancellationToken);
}
