using System.Collections;
using HibpIngest.Errors;
using HibpIngest.Hosting;
using HibpIngest.Hosting.Telemetry;
using HibpIngest.Pipeline;
using HibpIngest.Telemetry;

namespace HibpIngest.Functions;

/// <summary>
/// What the functions work with. Settings that are wrong are told by every answer instead of an exit: the third
/// exit of a handler stops its host. Stores are set up by the first call that needs them, and by the next where
/// that failed.
/// </summary>
internal sealed partial class HandlerPipeline : IAsyncDisposable
{
    private readonly OpenPipeline? _open;
    private readonly Parts? _parts;
    private readonly string _error = "";

    private HandlerPipeline(OpenPipeline open)
    {
        var setup = open.Context.NewStoreSetup();
        _open = open;
        _parts = new Parts(setup, open.Context.NewDispatcher(setup), open.Context.NewSweep());
    }

    private HandlerPipeline(string error) => _error = error;

    /// <exception cref="BadInputException">The settings are wrong.</exception>
    public PipelineContext Context => _open?.Context ?? throw new BadInputException(_error);

    /// <inheritdoc cref="Context"/>
    public StoreSetup Setup => Required.Setup;

    /// <inheritdoc cref="Context"/>
    public PipelineDispatcher Dispatcher => Required.Dispatcher;

    /// <inheritdoc cref="Context"/>
    public Sweep Sweep => Required.Sweep;

    private Parts Required => _parts ?? throw new BadInputException(_error);

    /// <summary>
    /// Starts what the settings say of telemetry; null where they say nothing, or what is
    /// <paramref name="wrong"/>.
    /// </summary>
    public static TelemetryExport? StartTelemetry(ILoggingBuilder logging, IDictionary environment, out BadInputException? wrong)
    {
        try
        {
            wrong = null;
            return TelemetryExport.Start(logging, environment);
        }
        catch (BadInputException e)
        {
            wrong = e;
            return null;
        }
    }

    /// <summary>Reads the settings and opens the stores; calls none.</summary>
    /// <param name="environment">The app settings.</param>
    /// <param name="time">The clock.</param>
    /// <param name="logs">Where everything is logged.</param>
    /// <param name="wrong">What is known to be wrong with the settings already.</param>
    public static HandlerPipeline Open(IDictionary environment, TimeProvider time, ILoggerFactory logs, BadInputException? wrong)
    {
        var log = logs.CreateLogger<HandlerPipeline>();
        try
        {
            if (wrong is not null)
                throw wrong;
            var settings = HandlerSettings.Read(environment);
            if (settings.UnknownVariables.Count > 0)
                LogUnknown(log, string.Join(", ", settings.UnknownVariables));
            return new HandlerPipeline(PipelineFactory.Open(settings, time, logs));
        }
        catch (HibpException e)
        {
            LogWrong(log, e.Message);
            return new HandlerPipeline($"the app settings are wrong: {e.Message}");
        }
    }

    public async ValueTask DisposeAsync()
    {
        if (_open is not null)
            await _open.DisposeAsync();
    }

    private sealed record Parts(StoreSetup Setup, PipelineDispatcher Dispatcher, Sweep Sweep);

    [LoggerMessage(
        EventIds.HandlerPipelineWrong, LogLevel.Critical, "the app settings are wrong, and nothing works until they are mended: {Reason}")]
    private static partial void LogWrong(ILogger log, string reason);

    [LoggerMessage(EventIds.HandlerPipelineUnknown, LogLevel.Warning, "{Variables} means nothing here: look for a misspelt name")]
    private static partial void LogUnknown(ILogger log, string variables);
}
