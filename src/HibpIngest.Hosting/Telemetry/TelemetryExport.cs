using System.Collections;
using System.Data.Common;
using Azure.Core;
using Azure.Identity;
using Azure.Monitor.OpenTelemetry.Exporter;
using OpenTelemetry;
using OpenTelemetry.Exporter;
using OpenTelemetry.Logs;
using OpenTelemetry.Metrics;
using OpenTelemetry.Resources;
using OpenTelemetry.Trace;

namespace HibpIngest.Hosting.Telemetry;

/// <summary>
/// Exports the pipeline's spans, instruments and log lines to Application Insights and to an OTLP endpoint. Nothing else is collected, in
/// particular no HTTP calls: the URLs of requests to Table Storage contain accounts. An endpoint that doesn't respond delays nothing; its
/// telemetry is dropped.
/// </summary>
public static class TelemetryExport
{
    public const string ApplicationInsightsVariable = "APPLICATIONINSIGHTS_CONNECTION_STRING";

    /// <summary>Takes precedence. The Functions host reads the other variable too, and its telemetry of a web app contains paths.</summary>
    public const string OwnApplicationInsightsVariable = "HIBP_APPINSIGHTS";

    /// <summary>Base address. The other OTEL_EXPORTER_OTLP_ variables work as in the OpenTelemetry specification.</summary>
    public const string OtlpVariable = "OTEL_EXPORTER_OTLP_ENDPOINT";

    // Format of the Functions host: Authorization=AAD, with ClientId=... for a user-assigned identity. Unset: the connection string's key.
    private const string AuthenticationVariable = "APPLICATIONINSIGHTS_AUTHENTICATION_STRING";

    private const string ProtocolVariable = "OTEL_EXPORTER_OTLP_PROTOCOL";

    // Other categories may log their input.
    private const string OwnCategories = "HibpIngest";

    // Application Insights expects metrics as aggregates of one minute.
    private const int MetricPeriodMilliseconds = 60_000;

    // Spans, or lines, that wait for Application Insights: a load has thousands, and none may be dropped.
    private const int MaxQueued = 65_536;

    /// <summary>Adds the exports that the environment names, if any. Disposing the container sends what is left.</summary>
    /// <exception cref="BadInputException">A variable is wrong; the message names it, and doesn't contain its value.</exception>
    public static IServiceCollection AddHibpTelemetry(this IServiceCollection services, IDictionary environment)
    {
        var connection = Find(OwnApplicationInsightsVariable) ?? Find(ApplicationInsightsVariable);
        var endpoint = Find(OtlpVariable);
        if (connection is null && endpoint is null)
            return services;
        if (endpoint is not null
            && !(Uri.TryCreate(endpoint, UriKind.Absolute, out var address)
                && (address.Scheme == Uri.UriSchemeHttp || address.Scheme == Uri.UriSchemeHttps)))
            throw new BadInputException($"{OtlpVariable}: expected the http or https URL of an OTLP endpoint, such as "
                + "http://localhost:4318");
        var protocol = Find(ProtocolVariable) switch
        {
            // The default, because it passes every proxy.
            null or "http/protobuf" => OtlpExportProtocol.HttpProtobuf,
            "grpc" => OtlpExportProtocol.Grpc,
            _ => throw new BadInputException($"{ProtocolVariable}: expected http/protobuf or grpc"),
        };
        var role = Find("OTEL_SERVICE_NAME") ?? Find("WEBSITE_SITE_NAME") ?? OwnCategories;
        var resource = ResourceBuilder.CreateEmpty().AddService(role).AddTelemetrySdk().AddEnvironmentVariableDetector();
        services.AddLogging(logging => logging.AddFilter<OpenTelemetryLoggerProvider>(null, LogLevel.None)
            .AddFilter<OpenTelemetryLoggerProvider>(OwnCategories, LogLevel.Information));
        services.AddOpenTelemetry()
            .WithTracing(spans => spans.SetResourceBuilder(resource).SetSampler(new AlwaysOnSampler()).AddSource(TelemetryNames.Source))
            .WithMetrics(metrics => metrics.SetResourceBuilder(resource).AddMeter(TelemetryNames.Source));
        if (connection is not null)
            AddApplicationInsights(services, AzureOptions(connection, Credential(Find(AuthenticationVariable))), resource);
        if (endpoint is not null)
        {
            services.ConfigureOpenTelemetryTracerProvider(spans => spans.AddOtlpExporter(options => options.Protocol = protocol));
            services.ConfigureOpenTelemetryMeterProvider(metrics => metrics.AddOtlpExporter(options => options.Protocol = protocol));
            services.AddLogging(logging => logging.AddOpenTelemetry(options =>
            {
                options.SetResourceBuilder(resource).AddProcessor(new ExceptionGuard(keepsItem: false)).AddOtlpExporter(
                    exporter => exporter.Protocol = protocol);
                options.IncludeFormattedMessage = true;
            }));
        }
        return services;

        string? Find(string variable) => environment[variable] is string value && !string.IsNullOrWhiteSpace(value) ? value : null;
    }

    // The AddAzureMonitor...Exporter methods aren't used: they would replace the sampler by one of five traces a second, and add metrics of
    // their own.
    private static void AddApplicationInsights(IServiceCollection services, AzureMonitorExporterOptions azure, ResourceBuilder resource)
    {
        try
        {
            var (spans, values, lines) = (
                new AzureMonitorTraceExporter(azure), new AzureMonitorMetricExporter(azure), new AzureMonitorLogExporter(azure));
            services.ConfigureOpenTelemetryTracerProvider(
                builder => builder.AddProcessor(new BatchActivityExportProcessor(spans, MaxQueued)));
            services.ConfigureOpenTelemetryMeterProvider(builder => builder.AddReader(
                new PeriodicExportingMetricReader(values, MetricPeriodMilliseconds)
                {
                    TemporalityPreference = MetricReaderTemporalityPreference.Delta,
                }));
            // A separate provider, since only this exporter may receive an exception.
            var options = new OpenTelemetryLoggerOptions { IncludeFormattedMessage = true };
            options.SetResourceBuilder(resource).AddProcessor(new ExceptionGuard(keepsItem: true)).AddProcessor(
                new BatchLogRecordExportProcessor(lines, MaxQueued));
            services.AddSingleton<ILoggerProvider>(_ => new OpenTelemetryLoggerProvider(new FixedOptions(options)));
        }
        catch (InvalidOperationException e)
        {
            throw new BadInputException(
                $"{ApplicationInsightsVariable}: expected the connection string of an Application Insights "
                + "resource (InstrumentationKey=...;IngestionEndpoint=https://...), as the portal shows it, found another format (not "
                + "shown: it may be secret)", e);
        }
    }

    // Nothing is stored on disk: stored telemetry is sent before newer telemetry, or never by a short-lived process.
    private static AzureMonitorExporterOptions AzureOptions(string connection, TokenCredential? credential)
    {
        // The exporter has no options for these: its reports to Microsoft, its own counters among the metrics, and an item of resource
        // attributes in each batch.
        Environment.SetEnvironmentVariable("APPLICATIONINSIGHTS_STATSBEAT_DISABLED", "true");
        Environment.SetEnvironmentVariable("APPLICATIONINSIGHTS_SDKSTATS_DISABLED", "true");
        Environment.SetEnvironmentVariable("OTEL_DOTNET_AZURE_MONITOR_ENABLE_RESOURCE_METRICS", "false");
        // By default each process would be a new instance of the role.
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
        }
        throw new BadInputException($"{AuthenticationVariable}: expected Authorization=AAD, with ;ClientId=... for a user-assigned "
            + "identity");
    }

    private sealed class FixedOptions(OpenTelemetryLoggerOptions options) : IOptionsMonitor<OpenTelemetryLoggerOptions>
    {
        public OpenTelemetryLoggerOptions CurrentValue => options;

        public OpenTelemetryLoggerOptions Get(string? name) => options;

        public IDisposable? OnChange(Action<OpenTelemetryLoggerOptions, string?> listener) => null;
    }
}

/// <summary>Keeps types and stack of a logged exception, not the message, which could contain input. Runs before every exporter.</summary>
/// <param name="keepsItem">Replaces the exception by a <see cref="LoggedException"/>, for an exporter that makes another kind of item of
/// lines with an exception.</param>
internal sealed class ExceptionGuard(bool keepsItem) : BaseProcessor<LogRecord>
{
    public override void OnEnd(LogRecord data)
    {
        if (data.Exception is not { } exception)
            return;
        data.Exception = keepsItem ? new LoggedException(data.FormattedMessage) : null;
        // Attribute names of OpenTelemetry: opentelemetry.io/docs/specs/semconv/exceptions/exceptions-logs.
        data.Attributes =
        [
            .. data.Attributes ?? [], new("exception.type", exception.GetType().FullName),
            new("exception.stacktrace", UnexpectedError.Describe(exception)),
        ];
    }
}

internal sealed class LoggedException(string? line) : Exception(line);
