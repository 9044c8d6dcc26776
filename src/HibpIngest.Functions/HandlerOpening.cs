using System.Collections;
using HibpIngest.Errors;
using HibpIngest.Hosting;
using HibpIngest.Telemetry;

namespace HibpIngest.Functions;

/// <summary>
/// Opens what the settings say. Settings that are wrong are told by every answer instead of an exit: the third exit of a
/// handler stops its host.
/// </summary>
internal static partial class HandlerOpening
{
    /// <summary>What was opened; where the settings are wrong, nothing and what is wrong with them, which is logged too.</summary>
    /// <param name="environment">The app settings.</param>
    /// <param name="logs">Where everything is logged, and what is known to be wrong already.</param>
    /// <param name="read">Reads the settings of this app.</param>
    /// <param name="open">Opens the stores; calls none.</param>
    public static (T? Opened, string Error) Open<T>(
        IDictionary environment, HandlerLogs logs, Func<IDictionary, PipelineSettings> read, Func<PipelineSettings, T> open)
        where T : class
    {
        var log = logs.Factory.CreateLogger(typeof(HandlerOpening).FullName!);
        try
        {
            if (logs.Wrong is not null)
                throw logs.Wrong;
            var settings = read(environment);
            if (settings.UnknownVariables.Count > 0)
                LogUnknown(log, string.Join(" ", settings.DescribeUnknown()));
            return (open(settings), "");
        }
        catch (HibpException e)
        {
            LogWrong(log, e.Message);
            return (null, $"the app settings are wrong: {e.Message}");
        }
    }

    [LoggerMessage(
        EventIds.HandlerOpeningWrong, LogLevel.Critical, "the app settings are wrong, and nothing works until they are mended: {Reason}")]
    private static partial void LogWrong(ILogger log, string reason);

    [LoggerMessage(EventIds.HandlerOpeningUnknown, LogLevel.Warning, "{Variables} means nothing here: look for a misspelt name")]
    private static partial void LogUnknown(ILogger log, string variables);
}
