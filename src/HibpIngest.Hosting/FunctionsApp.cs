using System.Collections;
using HibpIngest.Hosting.Telemetry;
using Microsoft.Extensions.Hosting;

namespace HibpIngest.Hosting;

/// <summary>
/// The setup common to both Functions apps: settings, logs, telemetry. Wrong settings don't end the process: after a
/// worker's third exit, the Functions host stops. Instead, each wrong setting is logged, and <see cref="SettingsErrors"/> is registered for
/// the services that must refuse work.
/// </summary>
public sealed partial class FunctionsApp
{
    // A batch or a transaction ends within seconds; the platform's own limit is longer.
    private static readonly TimeSpan ShutdownTimeout = TimeSpan.FromSeconds(30);

    private readonly SettingsErrors _errors = new();
    private readonly PipelineSettings? _settings;
    private readonly Action<IServiceProvider> _open;

    /// <summary>Reads and checks the settings, and adds the services of both apps and, if the settings are valid, the app's own.</summary>
    /// <param name="open">Opens the stores that the settings name, without calling them, and logs their names.</param>
    public FunctionsApp(
        IHostApplicationBuilder builder, Func<IDictionary, PipelineSettings> read, Action<IServiceCollection, PipelineSettings> add,
        Action<IServiceProvider> open)
    {
        var environment = Environment.GetEnvironmentVariables();
        _open = open;
        builder.Logging.SetMinimumLevel(LogLevel.Information);
        // At Information and below, the web framework and the Azure SDKs log paths and headers.
        builder.Logging.AddFilter("Microsoft", LogLevel.Warning).AddFilter("System", LogLevel.Warning).AddFilter("Azure", LogLevel.Warning);
        // App settings and appsettings.json can lower the log level of this program's own categories only.
        builder.Services.PostConfigure<LoggerFilterOptions>(filters =>
        {
            foreach (var rule in filters.Rules.Where(rule => rule.LogLevel < LogLevel.Warning && !IsOwn(rule.CategoryName)).ToList())
                filters.Rules.Remove(rule);
        });
        builder.Services.AddSingleton(_errors).Configure<HostOptions>(host => host.ShutdownTimeout = ShutdownTimeout);
        _errors.Try(() => builder.Services.AddHibpTelemetry(environment));
        _settings = _errors.Try(() => read(environment));
        if (_settings is not null)
        {
            // An exception while the host opens the stores would end the process, so a separate provider opens them first.
            var services = new ServiceCollection().AddLogging().AddSingleton(_errors);
            add(services, _settings);
            // No store has been used, so there is no need to wait.
            _ = _errors.Try(() => services.Open(open))?.DisposeAsync();
        }
        if (_errors.Messages.Count == 0)
            add(builder.Services, _settings!);
    }

    public async Task RunAsync(IHost host)
    {
        // Disposal sends the remaining log lines, even if the host doesn't start.
        using var running = host;
        var log = host.Services.GetRequiredService<ILogger<FunctionsApp>>();
        foreach (var line in _settings?.DescribeUnknown() ?? [])
            LogUnknown(log, line);
        foreach (var message in _errors.Messages)
            LogWrong(log, message);
        if (_errors.Messages.Count == 0)
            _open(host.Services);
        await host.RunAsync();
    }

    private static bool IsOwn(string? category) => category?.StartsWith("HibpIngest", StringComparison.Ordinal) == true;

    [LoggerMessage(
        EventIds.FunctionsAppWrongSetting, LogLevel.Critical, "app settings: {Reason}; every invocation fails until this is fixed")]
    private static partial void LogWrong(ILogger log, string reason);

    [LoggerMessage(EventIds.FunctionsAppUnknownSetting, LogLevel.Warning, "app settings: {Reason}")]
    private static partial void LogUnknown(ILogger log, string reason);
}

/// <summary>The Functions apps' settings: as for every host, but data that must outlive an instance has no default place.</summary>
public static class FunctionsAppSettings
{
    /// <summary>The triggers' connection: dropped files and queues. AzureWebJobsStorage belongs to the Functions host.</summary>
    public const string BreachStorage = "BreachStorage";

    // A plan that ends functions after 10 minutes leaves 2 minutes to skip to the checkpoint and to finish a batch.
    private static readonly TimeSpan DefaultTimeBudget = TimeSpan.FromMinutes(8);

    // 9.5 minutes with the default budget of 8, which is within 10; 26.5 with one of 25, which is within 30.
    private static readonly TimeSpan LimitBeyondBudget = TimeSpan.FromSeconds(90);

    private static readonly TimeSpan MaxPlanLimit = TimeSpan.FromDays(7);

    /// <summary>Reads the settings of the API's app: it needs a storage account, and nothing of the pipeline.</summary>
    /// <exception cref="WrongSettingsException">Settings are missing or wrong.</exception>
    public static PipelineSettings ReadApi(IDictionary environment)
    {
        var errors = new SettingsErrors();
        var storage = errors.Try(() => FindStorage(environment));
        return Read(environment, storage, errors);
    }

    /// <exception cref="WrongSettingsException">Settings are missing or wrong.</exception>
    public static PipelineSettings ReadPipeline(IDictionary environment)
    {
        var errors = new SettingsErrors();
        var storage = errors.Try(() => FindStorage(environment));
        if (Find(environment, "HIBP_DATABASE") is null)
            errors.Add("HIBP_DATABASE is expected to name the database: all instances must use the same one");
        if (Find(environment, "HIBP_MAIL") is null)
            errors.Add("HIBP_MAIL is expected to name a mail server: a pickup folder is lost with its instance");
        var settings = Read(
            environment, storage, errors, new() { [nameof(IngestOptions.TimeBudget)] = DefaultTimeBudget.ToString() });
        var ingest = settings.Get<IngestOptions>();
        if (ingest.PlanLimit != TimeSpan.Zero || ingest.TimeBudget == TimeSpan.Zero)
            return settings;
        var limit = ingest.TimeBudget + LimitBeyondBudget;
        return settings.WithOption(nameof(IngestOptions.PlanLimit), (limit < MaxPlanLimit ? limit : MaxPlanLimit).ToString());
    }

    private static PipelineSettings Read(
        IDictionary environment, string? storage, SettingsErrors errors, Dictionary<string, string?>? defaults = null)
    {
        var settings = errors.Try(() => PipelineSettings.Read(storage, null, environment, defaults));
        errors.ThrowIfAny();
        return settings!;
    }

    // A connection string, or the URI for an identity-based connection.
    private static string FindStorage(IDictionary environment) =>
        Find(environment, "HIBP_STORAGE") ?? Find(environment, BreachStorage) ?? Find(environment, $"{BreachStorage}__blobServiceUri")
        ?? throw new BadInputException($"expected HIBP_STORAGE or {BreachStorage} to name the storage account; neither is set");

    private static string? Find(IDictionary environment, string variable) =>
        environment[variable] is string { Length: > 0 } value && !string.IsNullOrWhiteSpace(value) ? value : null;
}
