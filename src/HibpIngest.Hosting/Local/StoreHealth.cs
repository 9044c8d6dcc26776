using HibpIngest.Errors;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Hosting.Local;

/// <summary>
/// Logs when what the loops of a host depend on goes down, each reason once, and when all of them are back: not each poll, and not each
/// loop. Safe for use by many at once.
/// </summary>
/// <param name="onDown">Told each time with the reason, and after how long the loop tries again.</param>
internal sealed partial class StoreHealth(ILogger log, Action<string, string, TimeSpan>? onDown = null)
{
    private const string Failed = " failed: ";

    private readonly Lock _lock = new();
    // The cause of each loop that waits.
    private readonly Dictionary<string, string> _down = [];

    /// <summary>What a loop needs is down.</summary>
    public void Down(string what, StoreUnavailableException reason, TimeSpan pause)
    {
        onDown?.Invoke(what, reason.Message, pause);
        lock (_lock)
        {
            var cause = Cause(reason.Message);
            var isKnown = _down.ContainsValue(cause);
            _down[what] = cause;
            if (!isKnown)
                LogDown(what, reason.Message);
        }
    }

    /// <summary>A loop has what it needs.</summary>
    public void Up(string what)
    {
        lock (_lock)
        {
            if (_down.Remove(what) && _down.Count == 0)
                LogUp();
        }
    }

    /// <summary>Behind what was being done, which is different for each loop.</summary>
    private static string Cause(string reason) => reason[(reason.IndexOf(Failed, StringComparison.Ordinal) is >= 0 and var at ? at : 0)..];

    [LoggerMessage(EventIds.StoreHealthDown, LogLevel.Warning, "{What} waits until its store is back: {Reason}")]
    private partial void LogDown(string what, string reason);

    [LoggerMessage(EventIds.StoreHealthUp, LogLevel.Warning, "all that waited for a store is back at work")]
    private partial void LogUp();
}
