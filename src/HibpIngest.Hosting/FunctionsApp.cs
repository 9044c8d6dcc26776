using System.Collections;
using HibpIngest.Hosting.Telemetry;
using Microsoft.Extensions.Hosting;

namespace HibpIngest.Hosting;

/// <summary>
/// The setup common to both Functions apps: settings, logs, telemetry. Wrong settings don't end the process, since the third exit of a
/// worker stops its host: each is logged, and <see cref="SettingsErrors"/> is registered for the services that must refuse work.
/// </summary>
public sealed partial class FunctionsApp
{
    // A batch or a transaction ends within seconds; the platform's own limit is longer.
    private static readonly TimeSpan ShutdownTimeout = TimeSpan.FromSeconds(30);

    private readonly SettingsErrors _errors = new();
    private readonly PipelineSettings? _settings;
    private readonly Action<IServiceProvider> _open;

    private FunctionsApp(
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
            _errors.Try(() => Check(_settings));
        if (_errors.Messages.Count == 0)
            add(builder.Services, _settings!);

        // An exception while the host opens the stores would end the process, so a separate provider opens them first.
        bool Check(PipelineSettings settings)
        {
            var services = new ServiceCollection().AddLogging().AddSingleton(_errors);
            add(services, settings);
            var provider = services.BuildServiceProvider();
            try
            {
                open(provider);
            }
            finally
            {
                // No store has been used, so there is no need to wait.
                _ = provider.DisposeAsync();
            }
            return true;
        }
    }

    /// <summary>Reads and checks the settings, and adds the services of both apps and, if the settings are valid, the app's own.</summary>
    /// <param name="open">Opens the stores that the settings name, without calling them, and logs their names.</param>
    public static FunctionsApp Configure(
        IHostApplicationBuilder builder, Func<IDictionary, PipelineSettings> read, Action<IServiceCollection, PipelineSettings> add,
        Action<IServiceProvider> open) => new(builder, read, add, open);

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
