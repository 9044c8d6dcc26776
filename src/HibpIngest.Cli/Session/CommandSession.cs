using HibpIngest.Cli.LocalHost;
using HibpIngest.Hosting.Telemetry;
using HibpIngest.Pipeline.Setup;
using HibpIngest.Storage.Azure;
using HibpIngest.Storage.Azure.Connections;
using HibpIngest.Storage.Sql;
using Microsoft.Extensions.Hosting;
using OpenTelemetry.Metrics;
using OpenTelemetry.Trace;

namespace HibpIngest.Cli.Session;

/// <summary>One run of a command: parsed options, screen, log, and the stores, which are opened on demand.</summary>
internal sealed class CommandSession : IDisposable
{
    private const string PipelineLogs = "HibpIngest.Pipeline";

    private readonly bool _verbose;
    private readonly ServiceProvider _logging;
    private PipelineSettings? _settings;

    public CommandSession(ParseResult parsed, Screen screen, bool exportsTelemetry = false)
    {
        Parsed = parsed;
        var (format, level) = LoggingOptions.Read(parsed, Environment.Variables);
        Screen = screen;
        Screen.Lines = format == LogFormat.Json ? new JsonLines(Time) : null;
        _verbose = parsed.GetValue(CommonOptions.Verbose);
        var services = new ServiceCollection().AddLogging(logging =>
        {
            if (level is { } minimum)
            {
                // Own categories only: ASP.NET Core's messages about requests contain paths, and those contain accounts.
                logging.SetMinimumLevel(minimum).AddFilter(
                    (category, of) => of >= LogLevel.Warning || category?.StartsWith("HibpIngest", StringComparison.Ordinal) == true);
            }
            else
            {
                logging.SetMinimumLevel(_verbose ? LogLevel.Information : LogLevel.Warning)
                    .AddFilter(PipelineLogs, level => level >= (_verbose ? LogLevel.Information : PipelineLevel));
            }
            logging.AddProvider(new ScreenLoggerProvider(Screen, _verbose, Time));
        });
        if (exportsTelemetry)
            services.AddHibpTelemetry(Environment.Variables);
        _logging = services.BuildServiceProvider();
        Logs = _logging.GetRequiredService<ILoggerFactory>();
        // No host starts these two.
        _ = _logging.GetService<TracerProvider>();
        _ = _logging.GetService<MeterProvider>();
    }

    /// <summary>Minimum level of the stages' log lines without <c>--verbose</c>.</summary>
    public LogLevel PipelineLevel { get; set; } = LogLevel.Warning;

    public ParseResult Parsed { get; }

    public CommandEnvironment Environment => CommandEnvironment.Of(Parsed);

    public Screen Screen { get; }

    public ILoggerFactory Logs { get; }

    public TimeProvider Time => TimeProvider.System;

    /// <summary>With the emulator, the further storage accounts are those that <c>hibp run --accounts</c> has created.</summary>
    public PipelineSettings Settings
    {
        get
        {
            _settings ??= PipelineSettings.Read(
                Parsed.GetValue(CommonOptions.Storage), Parsed.GetValue(CommonOptions.Database), Environment.Variables,
                emulatorPort: Parsed.GetValue(CommonOptions.EmulatorPort));
            return _settings.AdditionalStorage.Count == 0 && _settings.Emulator is { } emulator
                ? _settings with { AdditionalStorage = emulator.Further() } : _settings;
        }
    }

    public void Set(string variable, string value) => _settings = (_settings ?? Settings).WithOption(variable, value);

    public bool NamesDatabase =>
        Settings.Database != Settings.DefaultDatabase || File.Exists(Settings.DefaultDatabase);

    public void WarnOfUnknownVariables()
    {
        foreach (var line in Settings.DescribeUnknown())
            Screen.Say($"warning: {line}");
    }

    /// <summary>Opens the stores, creates what is missing in them, and checks that they belong together.</summary>
    public Task<ServiceProvider> OpenAsync(CancellationToken cancellationToken) =>
        OpenAsync(services => services.GetRequiredService<StoreSetup>().EnsureAsync(cancellationToken), cancellationToken);

    public async Task<StorageAccount> OpenAccountAsync(CancellationToken cancellationToken)
    {
        await RequireEmulatorAsync(cancellationToken);
        return StorageAccount.Open(Settings.Storage, Logs, null, Settings.AdditionalStorage);
    }

    public async Task<IHost> OpenHostAsync(LocalHostOptions options, CancellationToken cancellationToken)
    {
        await RequireEmulatorAsync(cancellationToken);
        var host = new HostBuilder().ConfigureServices(
            services => services.AddSingleton(Time).AddSingleton(Logs).AddHibp(Settings).AddHibpLocalHost(options)).Build();
        return await CheckedAsync(host, () =>
        {
            host.Services.OpenStores();
            return host.Services.GetRequiredService<StoreSetup>().EnsureAsync(cancellationToken);
        });
    }

    /// <param name="replicas">Retries and timeouts of the replicas' accounts. Null for those of the pipeline.</param>
    public async Task<ServiceProvider> OpenPasswordsAsync(CancellationToken cancellationToken, StorageOptions? replicas = null)
    {
        await RequireEmulatorAsync(cancellationToken);
        return new ServiceCollection().AddSingleton(Time).AddSingleton(Logs).AddLogging()
            .AddHibpStorage(Settings.Storage, Settings.AdditionalStorage)
            .AddHibpOptions(Settings.Variables).AddHibpPasswords(replicas)
            .BuildServiceProvider();
    }

    public async Task<ServiceProvider> OpenStorageAsync(CancellationToken cancellationToken)
    {
        await RequireEmulatorAsync(cancellationToken);
        return new ServiceCollection().AddSingleton(Time).AddSingleton(Logs).AddHibp(Settings).OpenHibp();
    }

    public async Task RequireEmulatorAsync(CancellationToken cancellationToken)
    {
        if (Settings.Emulator is not { } emulator)
            return;
        switch (await emulator.WaitForStateAsync(new ImmediateProgress<string>(Screen.Say), cancellationToken))
        {
            case EmulatorState.Stopped:
                throw new UnavailableException(
                    "the storage emulator is not running: start it with 'hibp run', or name a storage account in HIBP_STORAGE");
            case EmulatorState.Busy:
                throw new UnavailableException($"{emulator.BusyMessage}; try again");
        }
    }

    /// <summary>Opens existing stores: checks that they exist and belong together, and creates nothing.</summary>
    public Task<ServiceProvider> OpenExistingAsync(CancellationToken cancellationToken) => OpenAsync(
        async services =>
        {
            var database = services.GetRequiredService<IBreachDatabase>();
            await RequireSchemaAsync(database, cancellationToken);
            if (!await services.GetRequiredService<StoreSetup>().CheckAsync(cancellationToken))
            {
                var storage = services.GetRequiredService<StorageAccount>().DisplayName;
                throw new NotPossibleException($"database {database.DisplayName} and storage "
                    + $"{storage} are not set up yet: run 'hibp run' to set them up, or set HIBP_DATABASE "
                    + "and HIBP_STORAGE to the right ones");
            }
        },
        cancellationToken);

    /// <summary>Opens the stores for an upload, which needs no database; if one is known, it must belong to the same store.</summary>
    public Task<ServiceProvider> OpenToDropAsync(CancellationToken cancellationToken) => OpenAsync(
        async services =>
        {
            if (NamesDatabase)
                await services.GetRequiredService<StoreSetup>().CheckAsync(cancellationToken);
        },
        cancellationToken);

    public Task<IBreachDatabase> OpenExistingDatabaseAsync(CancellationToken cancellationToken) =>
        OpenDatabaseAsync(RequireSchemaAsync, cancellationToken);

    /// <summary>Opens only the database; creates the schema of a new one.</summary>
    public Task<IBreachDatabase> OpenDatabaseAsync(CancellationToken cancellationToken) =>
        OpenDatabaseAsync(StoreSetup.EnsureSchemaAsync, cancellationToken);

    public void Dispose() => _logging.Dispose();

    private async Task<ServiceProvider> OpenAsync(Func<ServiceProvider, Task> check, CancellationToken cancellationToken)
    {
        var services = await OpenStorageAsync(cancellationToken);
        return await CheckedAsync(services, () => check(services));
    }

    private async Task<IBreachDatabase> OpenDatabaseAsync(
        Func<IBreachDatabase, CancellationToken, Task> check, CancellationToken cancellationToken)
    {
        var database = DatabaseServices.Open(Settings.Database, Time, Logs);
        return await CheckedAsync(database, () => check(database, cancellationToken));
    }

    private static async Task<T> CheckedAsync<T>(T opened, Func<Task> check)
        where T : notnull
    {
        try
        {
            await check();
            return opened;
        }
        catch
        {
            await ((IAsyncDisposable)opened).DisposeAsync();
            throw;
        }
    }

    private static async Task RequireSchemaAsync(IBreachDatabase database, CancellationToken cancellationToken)
    {
        if (!await StoreSetup.HasSchemaAsync(database, cancellationToken))
        {
            throw new NotPossibleException($"database {database.DisplayName} does not exist, or is empty: set --database or "
                + "HIBP_DATABASE to the right one, or run 'hibp run' to set up a new one");
        }
    }
}
