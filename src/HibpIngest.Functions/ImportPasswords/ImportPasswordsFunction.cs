using HibpIngest.Hosting;
using HibpIngest.Pipeline;

namespace HibpIngest.Functions;

/// <summary>queueTrigger on <see cref="QueueNames.PasswordsImport"/>: imports one part of a dropped file of Pwned Passwords.</summary>
internal static class ImportPasswordsFunction
{
    /// <summary>What the host calls it.</summary>
    public const string Name = "ImportPasswords";

    public static Task RunAsync(Invocation invocation, HandlerPipeline pipeline, CancellationToken cancellationToken) =>
        pipeline.Get<PasswordWork>().DispatchAsync(QueueNames.PasswordsImport, invocation.QueueMessage(), cancellationToken);
}
