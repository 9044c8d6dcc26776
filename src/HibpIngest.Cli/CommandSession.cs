using System.CommandLine;
using HibpIngest.Cli.Commands;
using HibpIngest.Cli.Hosting;
using HibpIngest.Cli.Output;
using HibpIngest.Errors;
using HibpIngest.Hosting;
using HibpIngest.Hosting.Telemetry;
using HibpIngest.Pipeline;
using HibpIngest.Ports;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Cli;

/// <summary>One command's run: its parsed options, its screen, its log, and the stores as it asks for them.</summary>
internal sealed class CommandSession : IDisposable
{
    private const string PipelineLogs = "HibpIngest.Pipeline";

    private readonly bool _verbose;
    private TelemetryExport? _telemetry;
    private PipelineSettings? _settings;

    /// <param name="parsed">Its command line.</param>
    /// <param name="exportsTelemetry">Whether it works as the pipeline, and is watched where the environment asks for it.</param>
    /// <exception cref="BadInputException">What the environment asks for is wrong.</exception>
    public CommandSession(ParseResult parsed, bool exportsTelemetry = false)
    {
        Parsed = parsed;
        Screen = new Screen(parsed.GetValue(CommonOptions.Json));
        _verbose = parsed.GetValue(CommonOptions.Verbose);
        Logs = LoggerFactory.Create(logging =>
        {
            logging.SetMinimumLevel(_verbose ? LogLevel.Information : LogLevel.Warning)
                .AddFilter(typeof(PipelineDispatcher).FullName, LogLevel.Warning)
                .AddFilter(PipelineLogs, level => level >= (_verbose ? LogLevel.Information : PipelineLevel))
                .AddProvider(new ScreenLoggerProvider(Screen, _verbose, Time));
            if (exportsTelemetry)
                _telemetry = TelemetryExport.Start(logging, Environment.GetEnvironmentVariables());
        });
    }

    /// <summary>From which level on the stages are logged without <c>--verbose</c>: warnings. A host says what becomes of each load, and who follows one load shows its failure himself.</summary>
    public LogLevel PipelineLevel { get; set; } = LogLevel.Warning;

    public ParseResult Parsed { get; }

    public Screen Screen { get; }

    public ILoggerFactory Logs { get; }

    public TimeProvider Time => TimeProvider.System;

    /// <exception cref="BadInputException">A setting is wrong.</exception>
    public PipelineSettings Settings => _settings ??= PipelineSettings.Read(
        Parsed.GetValue(CommonOptions.Storage), Parsed.GetValue(CommonOptions.Database), Environment.GetEnvironmentVariables());

    /// <summary>Opens the stores, creates what is missing in them, and makes sure that they belong together.</summary>
    public async Task<OpenPipeline> OpenAsync(CancellationToken cancellationToken)
    {
        var pipeline = await OpenStorageAsync(cancellationToken);
        try
        {
            await new StoreSetup(pipeline.Context).EnsureAsync(cancellationToken);
            return pipeline;
        }
        catch
        {
            await pipeline.DisposeAsync();
            throw;
        }
    }

    /// <summary>Opens the stores without touching the database.</summary>
    public async Task<OpenPipeline> OpenStorageAsync(CancellationToken cancellationToken)
    {
        if (LocalEmulator.IsMeantBy(Settings.Storage) && !await LocalEmulator.AnswersAsync(cancellationToken))
            throw new StoreUnavailableException("the storage emulator is not running: start it with 'hibp run', or name a storage account in HIBP_STORAGE");
        return PipelineFactory.Open(Settings, Time, Logs);
    }

    /// <summary>Opens the stores as they are: makes sure that they are there and belong together, and makes nothing.</summary>
    /// <exception cref="NotPossibleException">They are not there.</exception>
    public async Task<OpenPipeline> OpenExistingAsync(CancellationToken cancellationToken)
    {
        var pipeline = await OpenStorageAsync(cancellationToken);
        try
        {
            await ExistingStores.RequireAsync(pipeline.Context, pipeline.Account.DisplayName, cancellationToken);
            return pipeline;
        }
        catch
        {
            await pipeline.DisposeAsync();
            throw;
        }
    }

    /// <summary>
    /// Opens the stores for an upload, which needs no database: it may be out of this machine's reach, and whoever drops may have no more than the container. Where one is named, or
    /// is where one would be by default, it has to be the one that belongs to the storage account: the upload would otherwise go into another installation.
    /// </summary>
    /// <exception cref="StoreMismatchException">Database and storage are of two installations.</exception>
    public async Task<OpenPipeline> OpenToDropAsync(CancellationToken cancellationToken)
    {
        var pipeline = await OpenStorageAsync(cancellationToken);
        try
        {
            if (Settings.Database != PipelineSettings.DefaultDatabase || File.Exists(PipelineSettings.DefaultDatabase))
                await ExistingStores.BelongTogetherAsync(pipeline.Context, pipeline.Account.DisplayName, cancellationToken);
            return pipeline;
        }
        catch
        {
            await pipeline.DisposeAsync();
            throw;
        }
    }

    /// <summary>Opens the database alone, as it is.</summary>
    /// <exception cref="NotPossibleException">It is not there.</exception>
    public async Task<IBreachDatabase> OpenExistingDatabaseAsync(CancellationToken cancellationToken)
    {
        var database = DatabaseFactory.Open(Settings.Database, Time, Logs);
        try
        {
            await ExistingStores.RequireDatabaseAsync(database, cancellationToken);
            return database;
        }
        catch
        {
            await database.DisposeAsync();
            throw;
        }
    }

    /// <summary>Opens the database alone; a fresh one gets its schema.</summary>
    public async Task<IBreachDatabase> OpenDatabaseAsync(CancellationToken cancellationToken)
    {
        var database = DatabaseFactory.Open(Settings.Database, Time, Logs);
        try
        {
            var (found, expected) = await database.GetSchemaVersionAsync(cancellationToken);
            if (found == 0)
                await database.UpgradeAsync(cancellationToken);
            else if (found < expected)
                throw new StoreMismatchException($"the schema of {database.DisplayName} has version {found} and this program is made for {expected}: run hibp database upgrade");
            else if (found > expected)
                throw new StoreMismatchException($"the schema of {database.DisplayName} has version {found}, newer than this program's {expected}: use the newer program");
            return database;
        }
        catch
        {
            await database.DisposeAsync();
            throw;
        }
    }

    public void Dispose()
    {
        Logs.Dispose();
        _telemetry?.Dispose();
    }
}
