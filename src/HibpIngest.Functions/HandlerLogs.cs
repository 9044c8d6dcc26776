using System.Collections;
using HibpIngest.Errors;
using HibpIngest.Hosting.Telemetry;
using Microsoft.Extensions.Logging.Console;

namespace HibpIngest.Functions;

/// <summary>Where the handler logs, made before anything that does.</summary>
internal sealed class HandlerLogs : IDisposable
{
    private readonly TelemetryExport? _telemetry;

    private HandlerLogs(ILoggerFactory factory, TelemetryExport? telemetry, BadInputException? wrong) =>
        (Factory, _telemetry, Wrong) = (factory, telemetry, wrong);

    public ILoggerFactory Factory { get; }

    /// <summary>What is wrong with the settings of telemetry, which then is not sent.</summary>
    public BadInputException? Wrong { get; }

    /// <param name="environment">The app settings.</param>
    public static HandlerLogs Open(IDictionary environment)
    {
        TelemetryExport? telemetry = null;
        BadInputException? wrong = null;
        var factory = LoggerFactory.Create(logging =>
        {
            logging.SetMinimumLevel(LogLevel.Information).AddFilter("Microsoft", LogLevel.Warning).AddFilter("Azure", LogLevel.Warning);
            // The host takes what is on standard output, line by line.
            logging.AddSimpleConsole(console => (console.SingleLine, console.ColorBehavior) = (true, LoggerColorBehavior.Disabled));
            try
            {
                telemetry = TelemetryExport.Start(logging, environment);
            }
            catch (BadInputException e)
            {
                wrong = e;
            }
        });
        return new HandlerLogs(factory, telemetry, wrong);
    }

    /// <summary>Sends what is left.</summary>
    public void Dispose()
    {
        Factory.Dispose();
        _telemetry?.Dispose();
    }
}
