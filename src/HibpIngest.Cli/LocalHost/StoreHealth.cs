namespace HibpIngest.Cli.LocalHost;

/// <summary>Logs each reason why stores are unavailable once, not for each poll or loop, and when all are back. Thread-safe.</summary>
/// <param name="onDown">Called each time, with the loop's name, the reason and the pause before the next try.</param>
internal sealed partial class StoreHealth(ILogger log, Action<string, string, TimeSpan>? onDown = null)
{
    private readonly Lock _lock = new();
    // The cause by waiting loop.
    private readonly Dictionary<string, string> _down = [];

    public void Down(string what, UnavailableException reason, TimeSpan pause)
    {
        onDown?.Invoke(what, reason.Message, pause);
        lock (_lock)
        {
            var isKnown = _down.ContainsValue(reason.Cause);
            _down[what] = reason.Cause;
            if (!isKnown)
                LogDown(what, reason.Message);
        }
    }

    public void Up(string what)
    {
        lock (_lock)
        {
            if (_down.Remove(what) && _down.Count == 0)
                LogUp();
        }
    }

    [LoggerMessage(EventIds.StoreHealthDown, LogLevel.Warning, "{What}: waiting for its store: {Reason}")]
    private partial void LogDown(string what, string reason);

    [LoggerMessage(EventIds.StoreHealthUp, LogLevel.Warning, "stores: all available again")]
    private partial void LogUp();
}
