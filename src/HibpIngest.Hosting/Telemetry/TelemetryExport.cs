using System.Collections;
using System.Data.Common;
using Azure.Core;
using Azure.Identity;
using Azure.Monitor.OpenTelemetry.Exporter;
using HibpIngest.Errors;
using HibpIngest.Telemetry;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;
using OpenTelemetry;
using OpenTelemetry.Exporter;
using OpenTelemetry.Logs;
using OpenTelemetry.Metrics;
using OpenTelemetry.Resources;
using OpenTelemetry.Trace;

namespace HibpIngest.Hosting.Telemetry;

/// <summary>
/// Sends the pipeline's spans, instruments and log lines to Application Insights and to an OTLP endpoint, where
/// the environment names them. Nothing else is collected, no calls over HTTP above all: the addresses of
/// requests to Table Storage hold accounts. An endpoint that doesn't answer stops nothing; what was meant for
/// it is lost in the end.
/// </summary>
public sealed class TelemetryExport : IDisposable
{
    /// <summary>Names an Application Insights resource.</summary>
    public const string ApplicationInsightsVariable = "APPLICATIONINSIGHTS_CONNECTION_STRING";

    /// <summary>
    /// Names it to this program alone, and wins: the Functions host reads the other, and its own telemetry of a web app holds
    /// paths, which hold accounts.
    /// </summary>
    public const string OwnApplicationInsightsVariable = "HIBP_APPINSIGHTS";

    /// <summary>
    /// Names the base address of an OTLP endpoint. The other OTEL_EXPORTER_OTLP_ variables (headers, protocol,
    /// timeout) count as the OpenTelemetry specification has them.
    /// </summary>
    public const string OtlpVariable = "OTEL_EXPORTER_OTLP_ENDPOINT";

    /// <summary>
    /// How the process signs in to Application Insights, in the words of the Functions host:
    /// <c>Authorization=AAD</c>, with <c>ClientId=...</c> for an identity of the user's. None: by the key of
    /// the connection string.
    /// </summary>
    private const string AuthenticationVariable = "APPLICATIONINSIGHTS_AUTHENTICATION_STRING";

    private const string ProtocolVariable = "OTEL_EXPORTER_OTLP_PROTOCOL";

    /// <summary>All our categories begin with it; those of others may log what they were given.</summary>
    private const string OwnCategories = "HibpIngest";

    /// <summary>Application Insights takes its metrics as aggregates of one minute.</summary>
    private const int MetricPeriodMilliseconds = 60_000;

    /// <summary>Spans, or lines, that may wait for Application Insights: a load has thousands, and none may be dropped.</summary>
    private const int MaxQueued = 65_536;

    /// <summary>For each of spans and metrics at the end; then what has not arrived is given up.</summary>
    private const int ShutdownTimeoutMilliseconds = 5_000;

    private readonly TracerProvider _spans;
    private readonly MeterProvider _metrics;

    private TelemetryExport(
        AzureMonitorExporterOptions? azure, bool otlp, OtlpExportProtocol protocol, ILoggingBuilder logging, ResourceBuilder resource)
    {
        var spans = Sdk.CreateTracerProviderBuilder().SetResourceBuilder(resource).SetSampler(new AlwaysOnSampler()).AddSource(
            TelemetryNames.Source);
        var metrics = Sdk.CreateMeterProviderBuilder().SetResourceBuilder(resource).AddMeter(TelemetryNames.Source);
        logging.AddFilter<OpenTelemetryLoggerProvider>(null, LogLevel.None).AddFilter<OpenTelemetryLoggerProvider>(
            OwnCategories, LogLevel.Information);
        if (azure is not null)
        {
            // The exporters themselves: AddAzureMonitor...Exporter would put a sampler of five traces a second in place of ours, and
            // metrics of its own beside them.
            spans.AddProcessor(new BatchActivityExportProcessor(new AzureMonitorTraceExporter(azure), MaxQueued));
            metrics.AddReader(
                new PeriodicExportingMetricReader(
                    new AzureMonitorMetricExporter(azure),
                    MetricPeriodMilliseconds)
                { TemporalityPreference = MetricReaderTemporalityPreference.Delta });
            // A provider of its own, as only this exporter is to see an exception.
            var lines = new OpenTelemetryLoggerOptions { IncludeFormattedMessage = true };
            lines.SetResourceBuilder(resource).AddProcessor(new ExceptionGuard(keepsItem: true)).AddProcessor(
                new BatchLogRecordExportProcessor(new AzureMonitorLogExporter(azure), MaxQueued));
            logging.Services.AddSingleton<ILoggerProvider>(_ => new OpenTelemetryLoggerProvider(new FixedOptions(lines)));
        }
        if (otlp)
        {
            spans.AddOtlpExporter(options => options.Protocol = protocol);
            metrics.AddOtlpExporter(options => options.Protocol = protocol);
            logging.AddOpenTelemetry(options =>
            {
                options.SetResourceBuilder(resource).AddProcessor(new ExceptionGuard(keepsItem: false)).AddOtlpExporter(
                    exporter => exporter.Protocol = protocol);
                options.IncludeFormattedMessage = true;
            });
        }
        _spans = spans.Build();
        _metrics = metrics.Build();
    }

    /// <summary>
    /// Starts what the environment asks for; null where it asks for nothing. To be disposed after whatever
    /// logs.
    /// </summary>
    /// <exception cref="BadInputException">A variable is not what it has to be; the message names it, and holds
    /// nothing of it.</exception>
    public static TelemetryExport? Start(ILoggingBuilder logging, IDictionary environment)
    {
        var connection = Find(OwnApplicationInsightsVariable) ?? Find(ApplicationInsightsVariable);
        var endpoint = Find(OtlpVariable);
        if (connection is null && endpoint is null)
            return null;
        if (endpoint is not null
            && !(Uri.TryCreate(endpoint, UriKind.Absolute, out var address)
                && (address.Scheme == Uri.UriSchemeHttp || address.Scheme == Uri.UriSchemeHttps)))
            throw new BadInputException($"{OtlpVariable} is expected to be the http or https address of an OTLP endpoint, like "
                + "http://localhost:4318; found something else");
        // Where nothing is said: what passes through every proxy.
        var protocol = Find(ProtocolVariable) switch
        {
            null or "http/protobuf" => OtlpExportProtocol.HttpProtobuf,
            "grpc" => OtlpExportProtocol.Grpc,
            _ => throw new BadInputException($"{ProtocolVariable} is expected to be http/protobuf or grpc; found something else"),
        };
        var role = Find("OTEL_SERVICE_NAME") ?? Find("WEBSITE_SITE_NAME") ?? OwnCategories;
        var resource = ResourceBuilder.CreateEmpty().AddService(role).AddTelemetrySdk().AddEnvironmentVariableDetector();
        var azure = connection is null ? null : AzureOptions(connection, Credential(Find(AuthenticationVariable)));
        try
        {
            return new TelemetryExport(azure, endpoint is not null, protocol, logging, resource);
        }
        catch (InvalidOperationException e) when (azure is not null)
        {
            throw new BadInputException(
                $"{ApplicationInsightsVariable} is expected to be the connection string of an Application Insights "
                + "resource (InstrumentationKey=...;IngestionEndpoint=https://...), as the portal shows it; found something else", e);
        }

        string? Find(string variable) => environment[variable] is string value && !string.IsNullOrWhiteSpace(value) ? value : null;
    }

    /// <summary>
    /// Everything is sent, nothing is kept on disk: what is kept there is sent before newer telemetry, or not at all by a short process.
    /// </summary>
    private static AzureMonitorExporterOptions AzureOptions(string connection, TokenCredential? credential)
    {
        // The exporter has no options for these: its reports to Microsoft, its own counters among our metrics, and an item of the
        // resource's attributes in each batch.
        Environment.SetEnvironmentVariable("APPLICATIONINSIGHTS_STATSBEAT_DISABLED", "true");
        Environment.SetEnvironmentVariable("APPLICATIONINSIGHTS_SDKSTATS_DISABLED", "true");
        Environment.SetEnvironmentVariable("OTEL_DOTNET_AZURE_MONITOR_ENABLE_RESOURCE_METRICS", "false");
        // Otherwise the instance of a role is a new id for each process.
        const string instance = "APPLICATIONINSIGHTS_CLOUD_ROLE_INSTANCE";
        Environment.SetEnvironmentVariable(instance, Environment.GetEnvironmentVariable(instance) ?? Environment.MachineName);
        return new AzureMonitorExporterOptions
        {
            ConnectionString = connection,
            Credential = credential,
            SamplingRatio = 1,
            TracesPerSecond = null,
            EnableTraceBasedLogsSampler = false,
            DisableOfflineStorage = true,
        };
    }

    private static TokenCredential? Credential(string? authentication)
    {
        if (authentication is null)
            return null;
        try
        {
            var parts = new DbConnectionStringBuilder { ConnectionString = authentication };
            if (parts.TryGetValue("Authorization", out var way) && string.Equals((string)way, "AAD", StringComparison.OrdinalIgnoreCase))
                return parts.TryGetValue("ClientId", out var client)
                ? new ManagedIdentityCredential(ManagedIdentityId.FromUserAssignedClientId((string)client)) : new DefaultAzureCredential();
        }
        catch (ArgumentException)
        {
            // Told below.
        }
        throw new BadInputException($"{AuthenticationVariable} is expected to be Authorization=AAD, with ;ClientId=... for an identity of "
            + "one's own; found something else");
    }

    /// <summary>Sends what is left; takes some seconds at most.</summary>
    public void Dispose()
    {
        _spans.Shutdown(ShutdownTimeoutMilliseconds);
        _metrics.Shutdown(ShutdownTimeoutMilliseconds);
        _spans.Dispose();
        _metrics.Dispose();
    }

    private sealed class FixedOptions(OpenTelemetryLoggerOptions options) : IOptionsMonitor<OpenTelemetryLoggerOptions>
    {
        public OpenTelemetryLoggerOptions CurrentValue => options;

        public OpenTelemetryLoggerOptions Get(string? name) => options;

        public IDisposable? OnChange(Action<OpenTelemetryLoggerOptions, string?> listener) => null;
    }
}
