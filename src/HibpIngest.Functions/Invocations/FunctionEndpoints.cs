using HibpIngest.Errors;

namespace HibpIngest.Functions;

/// <summary>Maps functions to the addresses that the host posts their calls to.</summary>
internal static class FunctionEndpoints
{
    /// <summary>
    /// Maps <c>POST /{name}</c>. The work is told to stop when the host closes the connection or this process
    /// is asked to stop; what it was doing ends at the next batch or transaction.
    /// </summary>
    public static void MapFunction(
        this WebApplication app, string name, HandlerPipeline pipeline, Func<Invocation, HandlerPipeline, CancellationToken, Task> run) =>
        app.MapPost($"/{name}", async context =>
        {
            using var stop = CancellationTokenSource.CreateLinkedTokenSource(context.RequestAborted, app.Lifetime.ApplicationStopping);
            using var invocation = await Invocation.ReadAsync(context.Request, stop.Token);
            await run(invocation, pipeline, stop.Token);
            await Answers.WriteDoneAsync(context.Response);
        }).WithDisplayName(name);

    /// <summary>Whatever else is asked is a failure, whatever its method.</summary>
    public static void MapNothingElse(this WebApplication app) =>
        app.MapFallback("{**path}", _ => throw new BadInputException("no function answers to this method and path: is this handler of the "
            + "same version as its function.json files?")).WithDisplayName("an unknown function");
}
