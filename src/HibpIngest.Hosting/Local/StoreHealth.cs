using HibpIngest.Errors;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Hosting.Local;

/// <summary>Logs when something a loop depends on goes down and when it is back: each change once, not each poll.</summary>
internal sealed partial class StoreHealth(ILogger log, string what)
{
    private bool _down;

    public void Down(StoreUnavailableException reason)
    {
        if (!_down)
            LogDown(what, reason.Message);
        _down = true;
    }

    public void Up()
    {
        if (_down)
            LogUp(what);
        _down = false;
    }

    [LoggerMessage(EventIds.StoreHealthDown, LogLevel.Warning, "{What} waits until its store is back: {Reason}")]
    private partial void LogDown(string what, string reason);

    [LoggerMessage(EventIds.StoreHealthUp, LogLevel.Warning, "{What} is back at work")]
    private partial void LogUp(string what);
}
