using System.Globalization;
using System.Net;
using HibpIngest.Api;
using HibpIngest.Api.AccessLog.Usage;
using HibpIngest.Api.Responses;
using HibpIngest.Hosting.Web;
using HibpIngest.Storage.Azure;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using OpenTelemetry;
using OpenTelemetry.Metrics;

namespace HibpIngest.Cli.LocalHost;

/// <summary>
/// Reports the state of this process to direct requests from this machine: <c>/healthz</c>, <c>/readyz</c> (queries no database, which a
/// probe would keep awake), <c>/usage</c>, and <c>/metrics</c> (<see cref="TelemetryNames"/>) in the Prometheus format.
/// </summary>
internal sealed class OperatorListener : IAsyncDisposable
{
    // A month: each hour is one partition to read.
    private const int MaxHours = 31 * 24;
    private const int DefaultHours = 24;

    private readonly WebApplication _app;
    private readonly MeterProvider _metrics;

    private OperatorListener(WebApplication app, MeterProvider metrics) => (_app, _metrics) = (app, metrics);

    public string Address => _app.Urls.First();

    public static async Task<OperatorListener> StartAsync(
        string url, StorageAccount account, TimeProvider time, CancellationToken cancellationToken)
    {
        if (!Uri.TryCreate(url, UriKind.Absolute, out var address) || address.Scheme != Uri.UriSchemeHttp || !address.IsLoopback)
            throw new BadInputException($"'{url}' is no address for operators: expected http://127.0.0.1:PORT");
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
        try
        {
            await app.StartAsync(cancellationToken);
            return new OperatorListener(app, metrics);
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
    }

    private static async Task AnswerUsageAsync(HttpContext context, UsageReader usage, TimeProvider time)
    {
        var (query, response) = (context.Request.Query, context.Response);
        response.Headers.CacheControl = "no-store";
        var (hours, by) = (DefaultHours, UsageBy.Route);
        if (query.TryGetValue("hours", out var number)
            && (!int.TryParse(number, NumberStyles.None, CultureInfo.InvariantCulture, out hours) || hours is < 1 or > MaxHours))
        {
            await SayAsync(StatusCodes.Status400BadRequest, $"hours is expected to be 1 to {MaxHours}");
            return;
        }
        if (query.TryGetValue("by", out var name) && !TryParse(name, out by))
        {
            await SayAsync(
                StatusCodes.Status400BadRequest,
                $"by is expected to be one of {string.Join(", ", Enum.GetNames<UsageBy>()).ToLowerInvariant()}");
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
            await SayAsync(StatusCodes.Status503ServiceUnavailable, e.Message);
        }

        async Task SayAsync(int status, string text)
        {
            (response.StatusCode, response.ContentType) = (status, "text/plain; charset=utf-8");
            await response.WriteAsync(text + "\n", context.RequestAborted);
        }
    }

    // Enum parsing also accepts numbers and lists.
    private static bool TryParse(string? name, out UsageBy by) => Enum.TryParse(name, ignoreCase: true, out by)
        && by.ToString().Equals(name, StringComparison.OrdinalIgnoreCase);
}
