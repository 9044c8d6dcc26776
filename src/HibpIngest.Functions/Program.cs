using System.Net;
using Microsoft.Extensions.Logging.Console;

namespace HibpIngest.Functions;

/// <summary>
/// The Azure Functions app: a custom handler, which the Functions host starts and calls over HTTP on the
/// loopback interface. See host.json, and function.json in the folder of each function.
/// </summary>
internal static class Program
{
    // What is in hand stops at its next batch or transaction, of seconds; the platform waits longer than this.
    private static readonly TimeSpan ShutdownTimeout = TimeSpan.FromSeconds(30);

    private static async Task<int> Main()
    {
        var environment = Environment.GetEnvironmentVariables();
        if (HandlerSettings.ReadPort(environment) is not { } port)
        {
            await Console.Error.WriteLineAsync($"error: {HandlerSettings.PortVariable} is expected to hold a port: the Azure Functions "
                + "host starts this program and sets it (func start, in the folder that dotnet publish made). To run the pipeline without "
                + "that host: hibp run");
            return 1;
        }

        // Empty: no address, level or file that the environment could slip in beside the host's.
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.Logging.SetMinimumLevel(LogLevel.Information).AddFilter("Microsoft", LogLevel.Warning).AddFilter("Azure", LogLevel.Warning);
        // The host takes what is on standard output, line by line.
        builder.Logging.AddSimpleConsole(console => (console.SingleLine, console.ColorBehavior) = (true, LoggerColorBehavior.Disabled));
        builder.Services.AddRoutingCore().Configure<HostOptions>(host => host.ShutdownTimeout = ShutdownTimeout);
        builder.WebHost.UseKestrelCore().ConfigureKestrel(server =>
        {
            server.Listen(IPAddress.Loopback, port);
            server.Limits.MaxRequestBodySize = Invocation.MaxBytes;
            server.AddServerHeader = false;
        });
        using var telemetry = HandlerPipeline.StartTelemetry(builder.Logging, environment, out var wrong);
        await using var app = builder.Build();
        var logs = app.Services.GetRequiredService<ILoggerFactory>();
        await using var pipeline = HandlerPipeline.Open(environment, TimeProvider.System, logs, wrong);

        var answers = logs.CreateLogger("HibpIngest.Functions");
        app.Use(next => context => Answers.GuardAsync(context, next, answers));
        app.UseRouting();
        app.MapFunction(IngestBreachFunction.Name, pipeline, IngestBreachFunction.RunAsync);
        app.MapFunction(ResumeIngestFunction.Name, pipeline, ResumeIngestFunction.RunAsync);
        app.MapFunction(UpsertSliceFunction.Name, pipeline, UpsertSliceFunction.RunAsync);
        app.MapFunction(MatchSubscribersFunction.Name, pipeline, MatchSubscribersFunction.RunAsync);
        app.MapFunction(SendNotificationsFunction.Name, pipeline, SendNotificationsFunction.RunAsync);
        app.MapFunction(SweepFunction.Name, pipeline, SweepFunction.RunAsync);
        app.MapGet(HealthFunction.Route, new HealthFunction(pipeline, TimeProvider.System).AnswerAsync);
        // The host asks until there is an answer, then sends calls.
        app.MapGet("/", context => Answers.WriteJsonAsync(context.Response, "{}"u8.ToArray()));
        app.MapNothingElse();
        await app.RunAsync();
        return 0;
    }
}
