using System.Net;
using System.Runtime.CompilerServices;
using HibpIngest.Api;
using HibpIngest.Api.AccessLog.Usage;
using HibpIngest.Api.Pages;
using HibpIngest.Api.Responses;
using HibpIngest.Hosting.Web;
using HibpIngest.Storage.Azure;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Routing;
using Microsoft.Extensions.Logging.Abstractions;
using OpenTelemetry;
using OpenTelemetry.Metrics;

namespace HibpIngest.Cli.LocalHost;

/// <summary>
/// Reports the state of this process to direct requests from this machine: <c>/healthz</c>, <c>/readyz</c> (queries no database, which a
/// probe would keep awake), <c>/usage</c>, <c>/metrics</c> (<see cref="TelemetryNames"/>) in the Prometheus format, and the page
/// <c>/status</c> if the process has a database.
/// </summary>
internal sealed class OperatorListener : IAsyncDisposable
{
    // A month: each hour is one partition to read.
    private const int MaxHours = 31 * 24;
    private const int DefaultHours = 24;

    private readonly WebApplication _app;
    private readonly MeterProvider _metrics;
    private readonly StatusFeed? _status;

    private OperatorListener(WebApplication app, MeterProvider metrics, StatusFeed? status) =>
        (_app, _metrics, _status) = (app, metrics, status);

    public string Address => _app.Urls.First();

    public static async Task<OperatorListener> StartAsync(
        string url, StorageAccount account, StatusFeed? status, TimeProvider time, CancellationToken cancellationToken)
    {
        if (!Uri.TryCreate(url, UriKind.Absolute, out var address) || address.Scheme != Uri.UriSchemeHttp || !address.IsLoopback)
            throw new BadInputException($"'{url}' is not an address for operators: expected http://127.0.0.1:PORT");
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.Services.AddRoutingCore();
        builder.WebHost.UseKestrelCore().ConfigureKestrel(server =>
        {
            WebServer.Limit(server);
            server.Listen(IPAddress.Loopback, address.Port);
        });
        var app = builder.Build();
        var metrics = Sdk.CreateMeterProviderBuilder().AddMeter(TelemetryNames.Source).AddPrometheusExporter().Build();
        var stores = new CachedCheck(token => account.Register.GetIdentityAsync(token), time);
        app.Use(next => context =>
        {
            if (LocalRequests.IsDirect(context.Request))
                return next(context);
            context.Response.StatusCode = StatusCodes.Status403Forbidden;
            return Task.CompletedTask;
        });
        app.UseRouting();
        app.MapGet("/healthz", context => HealthResponse.WriteAsync(context.Response, true));
        app.MapGet("/readyz", async context => await HealthResponse.WriteAsync(context.Response, await stores.IsWellAsync()));
        var usage = new UsageReader(account.Usage, account.Keys);
        app.MapPrometheusScrapingEndpoint("/metrics", metrics, configureBranchedPipeline: null, optionsName: null);
        app.MapGet("/usage", context => AnswerUsageAsync(context, usage, time));
        if (status is not null)
            MapStatus(app, status, time);
        try
        {
            await app.StartAsync(cancellationToken);
            return new OperatorListener(app, metrics, status);
        }
        catch (Exception e)
        {
            await app.DisposeAsync();
            metrics.Dispose();
            if (e is IOException or AddressInUseException)
                throw new NotPossibleException(
                    $"can't listen on {url}: another program does so already; name a free address with --listen");
            throw;
        }
    }

    public async ValueTask DisposeAsync()
    {
        await _app.StopAsync();
        await _app.DisposeAsync();
        _metrics.Dispose();
        _status?.Dispose();
    }

    private static void MapStatus(WebApplication app, StatusFeed status, TimeProvider time)
    {
        var pages = new PageRenderer(app.Services, NullLoggerFactory.Instance);
        var stopping = app.Lifetime.ApplicationStopping;
        app.MapGet("/assets/{name}", context => PageAssets.WriteAsync(context, (string)context.GetRouteValue("name")!));
        app.MapGet("/status", async context =>
        {
            try
            {
                await pages.WriteAsync<StatusPage>(
                    context, Parameters(nameof(StatusPage.Figures), await status.ReadAsync(context.RequestAborted)));
            }
            catch (HibpException e)
            {
                await SayAsync(context.Response, StatusCodes.Status503ServiceUnavailable, e.Message);
            }
        });
        app.MapGet("/status/events", context => TypedResults.ServerSentEvents(WatchAsync(context.RequestAborted)).ExecuteAsync(context));

        async IAsyncEnumerable<string> WatchAsync([EnumeratorCancellation] CancellationToken gone)
        {
            using var ended = CancellationTokenSource.CreateLinkedTokenSource(gone, stopping);
            using var timer = new PeriodicTimer(StatusFeed.PollInterval, time);
            do
            {
                StatusFigures figures;
                try
                {
                    figures = await status.ReadAsync(ended.Token);
                }
                catch (Exception e) when (e is HibpException or OperationCanceledException)
                {
                    yield break; // the browser asks again
                }
                yield return await pages.RenderAsync<StatusTables>(Parameters(nameof(StatusTables.Figures), figures));
            }
            while (await TicksAsync(timer, ended.Token));
        }

        static async Task<bool> TicksAsync(PeriodicTimer timer, CancellationToken ended)
        {
            try
            {
                return await timer.WaitForNextTickAsync(ended);
            }
            catch (OperationCanceledException)
            {
                return false;
            }
        }

        static Dictionary<string, object?> Parameters(string name, StatusFigures figures) => new() { [name] = figures };
    }

    private static async Task AnswerUsageAsync(HttpContext context, UsageReader usage, TimeProvider time)
    {
        var (query, response) = (context.Request.Query, context.Response);
        response.Headers.CacheControl = "no-store";
        var (hours, by) = (DefaultHours, UsageBy.Route);
        if (query.TryGetValue("hours", out var number)
            && (!int.TryParse(number, NumberStyles.None, CultureInfo.InvariantCulture, out hours) || hours is < 1 or > MaxHours))
        {
            await SayAsync(response, StatusCodes.Status400BadRequest, $"hours: expected 1 to {MaxHours}");
            return;
        }
        if (query.TryGetValue("by", out var name) && !EnumNames.TryParse(name, out by))
        {
            await SayAsync(response, StatusCodes.Status400BadRequest, $"by: expected one of {EnumNames.Join<UsageBy>(", ")}");
            return;
        }
        try
        {
            var report = await usage.ReadLastAsync(hours, by, time.GetUtcNow(), context.RequestAborted);
            response.ContentType = "application/json";
            await response.Body.WriteAsync(report.ToJson(), context.RequestAborted);
        }
        catch (HibpException e)
        {
            await SayAsync(response, StatusCodes.Status503ServiceUnavailable, e.Message);
        }
    }

    private static Task SayAsync(HttpResponse response, int status, string text)
    {
        (response.StatusCode, response.ContentType) = (status, "text/plain; charset=utf-8");
        return response.WriteAsync(text + "\n", response.HttpContext.RequestAborted);
    }
}
