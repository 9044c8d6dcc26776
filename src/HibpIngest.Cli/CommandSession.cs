using System.CommandLine;
using HibpIngest.AzureStorage;
using HibpIngest.Cli.Commands;
using HibpIngest.Cli.Output;
using HibpIngest.Errors;
using HibpIngest.Hosting;
using HibpIngest.Hosting.Local;
using HibpIngest.Hosting.Telemetry;
using HibpIngest.Pipeline;
using HibpIngest.Sql;
using HibpIngest.Stores;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using OpenTelemetry.Metrics;
using OpenTelemetry.Trace;

namespace HibpIngest.Cli;

/// <summary>One command's run: its parsed options, its screen, its log, and the stores as it asks for them.</summary>
internal sealed class CommandSession : IDisposable
{
    private const string PipelineLogs = "HibpIngest.Pipeline";

    private readonly bool _verbose;
    private readonly ServiceProvider _logging;
    private PipelineSettings? _settings;

    /// <param name="screen">Where it shows what it does.</param>
    /// <param name="exportsTelemetry">Whether it works as the pipeline, and is watched where the environment asks for it.</param>
    /// <exception cref="BadInputException">What the environment asks for is wrong.</exception>
    public CommandSession(ParseResult parsed, Screen screen, bool exportsTelemetry = false)
    {
        Parsed = parsed;
        var (format, level) = LogOptions.Read(parsed, Environment.Variables);
        Screen = screen;
        Screen.Lines = format == LogFormat.Json ? new JsonLines(Time) : null;
        _verbose = parsed.GetValue(CommonOptions.Verbose);
        var services = new ServiceCollection().AddLogging(logging =>
        {
            if (level is { } asked)
            {
                // Not of others: what ASP.NET Core says of a request holds its path, and that holds an account.
                logging.SetMinimumLevel(asked).AddFilter(
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

    /// <summary>
    /// From which level on the stages are logged without <c>--verbose</c>: warnings. A host says what becomes
    /// of each load, and who follows one load shows its failure himself.
    /// </summary>
    public LogLevel PipelineLevel { get; set; } = LogLevel.Warning;

    public ParseResult Parsed { get; }

    public CommandEnvironment Environment => CommandEnvironment.Of(Parsed);

    public Screen Screen { get; }

    public ILoggerFactory Logs { get; }

    public TimeProvider Time => TimeProvider.System;

    /// <exception cref="BadInputException">A setting is wrong.</exception>
    /// <remarks>Beside the emulator the further storage accounts are those that <c>hibp run --accounts</c> has made.</remarks>
    public PipelineSettings Settings
    {
        get
        {
            _settings ??= PipelineSettings.Read(
                Parsed.GetValue(CommonOptions.Storage), Parsed.GetValue(CommonOptions.Database), Environment.Variables,
                emulatorPort: Parsed.GetValue(CommonOptions.EmulatorPort));
            return _settings.FurtherStorage.Count == 0 && _settings.Emulator is { } emulator
                ? _settings with { FurtherStorage = emulator.Further() } : _settings;
        }
    }

    /// <summary>Sets a variable in place of the environment, for this run.</summary>
    public void Set(string variable, string value) => _settings = (_settings ?? Settings).With(variable, value);

    /// <summary>A database is named, or is where one would be by default.</summary>
    public bool NamesDatabase =>
        Settings.Database != Settings.DefaultDatabase || File.Exists(Settings.DefaultDatabase);

    /// <summary>Says what of the environment means nothing: most likely misspelt.</summary>
    public void WarnOfUnknownVariables()
    {
        foreach (var line in Settings.DescribeUnknown())
            Screen.Say($"warning: {line}");
    }

    /// <summary>Opens the stores, creates what is missing in them, and makes sure that they belong together.</summary>
    public Task<ServiceProvider> OpenAsync(CancellationToken cancellationToken) =>
        OpenAsync(services => services.GetRequiredService<StoreSetup>().EnsureAsync(cancellationToken), cancellationToken);

    /// <summary>Opens the storage account alone, for what needs no database.</summary>
    public async Task<StorageAccount> OpenAccountAsync(CancellationToken cancellationToken)
    {
        await RequireEmulatorAsync(cancellationToken);
        return StorageAccount.Open(Settings.Storage, Logs, null, Settings.FurtherStorage);
    }

    /// <summary>Opens the stores as <see cref="OpenAsync(CancellationToken)"/> does, for a host of this process.</summary>
    public async Task<IHost> OpenHostAsync(LocalHostOptions options, CancellationToken cancellationToken)
    {
        await RequireEmulatorAsync(cancellationToken);
        var host = new HostBuilder().ConfigureServices(
            services => services.AddSingleton(Time).AddSingleton(Logs).AddHibp(Settings).AddHibpLocalHost(options)).Build();
        try
        {
            host.Services.OpenStores();
            await host.Services.GetRequiredService<StoreSetup>().EnsureAsync(cancellationToken);
            return host;
        }
        catch
        {
            await ((IAsyncDisposable)host).DisposeAsync();
            throw;
        }
    }

    /// <summary>Opens Pwned Passwords, which need no database.</summary>
    /// <param name="replicas">Retries and timeouts of the replicas' accounts; null: the pipeline's.</param>
    public async Task<ServiceProvider> OpenPasswordsAsync(CancellationToken cancellationToken, StorageOptions? replicas = null)
    {
        await RequireEmulatorAsync(cancellationToken);
        return new ServiceCollection().AddSingleton(Time).AddSingleton(Logs).AddLogging()
            .AddHibpStorage(Settings.Storage, Settings.FurtherStorage)
            .AddHibpOptions(Settings.Variables).AddHibpPasswords(replicas)
            .BuildServiceProvider();
    }

    /// <summary>Opens the stores without touching the database.</summary>
    public async Task<ServiceProvider> OpenStorageAsync(CancellationToken cancellationToken)
    {
        await RequireEmulatorAsync(cancellationToken);
        return new ServiceCollection().AddSingleton(Time).AddSingleton(Logs).AddHibp(Settings).OpenHibp();
    }

    /// <exception cref="StoreUnavailableException">The emulator is meant, and doesn't run, or accepts no connection.</exception>
    public async Task RequireEmulatorAsync(CancellationToken cancellationToken)
    {
        if (Settings.Emulator is not { } emulator)
            return;
        switch (await emulator.WaitForStateAsync(new Reported<string>(Screen.Say), cancellationToken))
        {
            case EmulatorState.Stopped:
                throw new StoreUnavailableException(
                    "the storage emulator is not running: start it with 'hibp run', or name a storage account in HIBP_STORAGE");
            case EmulatorState.Busy:
                throw new StoreUnavailableException($"{emulator.BusyMessage}; try again");
        }
    }

    /// <summary>Opens the stores as they are: makes sure that they are there and belong together, and makes nothing.</summary>
    /// <exception cref="NotPossibleException">They are not there.</exception>
    /// <exception cref="StoreMismatchException">They don't belong together.</exception>
    public Task<ServiceProvider> OpenExistingAsync(CancellationToken cancellationToken) => OpenAsync(
        async services =>
        {
            var database = services.GetRequiredService<IBreachDatabase>();
            await RequireSchemaAsync(database, cancellationToken);
            if (!await services.GetRequiredService<StoreSetup>().CheckAsync(cancellationToken))
            {
                var storage = services.GetRequiredService<StorageAccount>().DisplayName;
                throw new NotPossibleException($"database {database.DisplayName} and storage "
                    + $"{storage} are not set up yet: 'hibp run' does that, or name those that are meant by "
                    + "HIBP_DATABASE and HIBP_STORAGE");
            }
        },
        cancellationToken);

    /// <summary>
    /// Opens the stores for an upload, which needs no database: it may be out of this machine's reach, and
    /// whoever drops may have no more than the container. Where one is named, or is where one would be by
    /// default, it has to be the one that belongs to the storage account: the upload would otherwise go into
    /// another installation.
    /// </summary>
    /// <exception cref="StoreMismatchException">Database and storage are of two installations.</exception>
    public Task<ServiceProvider> OpenToDropAsync(CancellationToken cancellationToken) => OpenAsync(
        async services =>
        {
            if (NamesDatabase)
                await services.GetRequiredService<StoreSetup>().CheckAsync(cancellationToken);
        },
        cancellationToken);

    /// <summary>Opens the database alone, as it is.</summary>
    /// <exception cref="NotPossibleException">It is not there.</exception>
    public Task<IBreachDatabase> OpenExistingDatabaseAsync(CancellationToken cancellationToken) =>
        OpenDatabaseAsync(RequireSchemaAsync, cancellationToken);

    /// <summary>Opens the database alone; a fresh one gets its schema.</summary>
    public Task<IBreachDatabase> OpenDatabaseAsync(CancellationToken cancellationToken) =>
        OpenDatabaseAsync(StoreSetup.EnsureSchemaAsync, cancellationToken);

    public void Dispose() => _logging.Dispose();

    private async Task<ServiceProvider> OpenAsync(Func<ServiceProvider, Task> check, CancellationToken cancellationToken)
    {
        var services = await OpenStorageAsync(cancellationToken);
        try
        {
            await check(services);
            return services;
        }
        catch
        {
            await services.DisposeAsync();
            throw;
        }
    }

    private async Task<IBreachDatabase> OpenDatabaseAsync(
        Func<IBreachDatabase, CancellationToken, Task> check, CancellationToken cancellationToken)
    {
        var database = DatabaseServices.Open(Settings.Database, Time, Logs);
        try
        {
            await check(database, cancellationToken);
            return database;
        }
        catch
        {
            await database.DisposeAsync();
            throw;
        }
    }

    private static async Task RequireSchemaAsync(IBreachDatabase database, CancellationToken cancellationToken)
    {
        if (!await StoreSetup.HasSchemaAsync(database, cancellationToken))
        {
            throw new NotPossibleException($"database {database.DisplayName} is not there, or is empty: name the one that is meant by "
                + "--database or HIBP_DATABASE; 'hibp run' sets a new one up");
        }
    }
}
