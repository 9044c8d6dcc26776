using System.Collections;
using System.Net;
using HibpIngest.Hosting.Web;
using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace HibpIngest.Functions;

/// <summary>
/// The Azure Functions apps: a custom handler, which the Functions host starts and calls over HTTP on the loopback interface. It
/// is the pipeline or the API, as HIBP_APP says; see host.json and function.json of either.
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
                + "that host: hibp run; the API: hibp serve");
            return 1;
        }

        using var logs = HandlerLogs.Open(environment);
        // Never both: the web's trigger takes every path, and would let anybody call the functions.
        await (HandlerSettings.IsIngest(environment) ? RunIngestAsync(port, environment, logs) : RunWebAsync(port, environment, logs));
        return 0;
    }

    /// <summary>The pipeline's functions.</summary>
    private static async Task RunIngestAsync(int port, IDictionary environment, HandlerLogs logs)
    {
        await using var pipeline = HandlerPipeline.Open(environment, TimeProvider.System, logs);
        var builder = NewBuilder(port, logs, server =>
        {
            server.Limits.MaxRequestBodySize = Invocation.MaxBytes;
            server.AddServerHeader = false;
        });
        builder.Services.AddRoutingCore();
        await using var app = builder.Build();
        var answers = logs.Factory.CreateLogger("HibpIngest.Functions");
        app.Use(next => context => Answers.GuardAsync(context, next, answers));
        app.UseRouting();
        app.MapFunction(IngestBreachFunction.Name, pipeline, IngestBreachFunction.RunAsync);
        app.MapFunction(ResumeIngestFunction.Name, pipeline, ResumeIngestFunction.RunAsync);
        app.MapFunction(UpsertSliceFunction.Name, pipeline, UpsertSliceFunction.RunAsync);
        app.MapFunction(MatchSubscribersFunction.Name, pipeline, MatchSubscribersFunction.RunAsync);
        app.MapFunction(LogLoadFunction.Name, pipeline, LogLoadFunction.RunAsync);
        app.MapFunction(CallClientsFunction.Name, pipeline, CallClientsFunction.RunAsync);
        app.MapFunction(DeliverCallbacksFunction.Name, pipeline, DeliverCallbacksFunction.RunAsync);
        app.MapFunction(SendNotificationsFunction.Name, pipeline, SendNotificationsFunction.RunAsync);
        app.MapFunction(PlanPasswordsFunction.Name, pipeline, PlanPasswordsFunction.RunAsync);
        app.MapFunction(ImportPasswordsFunction.Name, pipeline, ImportPasswordsFunction.RunAsync);
        app.MapFunction(AppendPasswordsFunction.Name, pipeline, AppendPasswordsFunction.RunAsync);
        app.MapFunction(RollUpAccessFunction.Name, pipeline, RollUpAccessFunction.RunAsync);
        app.MapFunction(SweepFunction.Name, pipeline, SweepFunction.RunAsync);
        app.MapGet(HealthFunction.Route, new HealthFunction(pipeline, TimeProvider.System).AnswerAsync);
        // The host asks until there is an answer, then sends calls.
        app.MapGet("/", context => Answers.WriteJsonAsync(context.Response, "{}"u8.ToArray()));
        app.MapNothingElse();
        await app.RunAsync();
    }

    /// <summary>The API. The host's question at the start gets the 404 of an address that is none: any answer will do.</summary>
    private static async Task RunWebAsync(int port, IDictionary environment, HandlerLogs logs)
    {
        await using var web = HandlerWeb.Open(environment, TimeProvider.System, logs);
        var builder = NewBuilder(port, logs, WebServer.Limit);
        web.AddServices(builder.Services);
        await using var app = builder.Build();
        web.Map(app);
        await app.RunAsync();
    }

    private static WebApplicationBuilder NewBuilder(int port, HandlerLogs logs, Action<KestrelServerOptions> configure)
    {
        // Empty: no address, level or file that the environment could slip in beside the host's.
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.Services.AddSingleton(logs.Factory).Configure<HostOptions>(host => host.ShutdownTimeout = ShutdownTimeout);
        builder.WebHost.UseKestrelCore().ConfigureKestrel(server =>
        {
            server.Listen(IPAddress.Loopback, port);
            configure(server);
        });
        return builder;
    }
}
