namespace HibpIngest.Pipeline.Callbacks;

// Event ids 2310-2319; a contract. Only a client's number is logged, never its name, address or prefixes.
public sealed partial class DeliverCallbacks
{
    [LoggerMessage(
        EventIds.DeliverCallbacksCalled, LogLevel.Information, "client {Client}: called ({Accepted} calls accepted, {Others} not)")]
    private partial void LogCalled(int client, long accepted, long others);

    [LoggerMessage(
        EventIds.DeliverCallbacksGone, LogLevel.Warning,
        "client {Client}: paused because it responded 410; to resume, run: hibp clients resume")]
    private partial void LogGone(int client);

    [LoggerMessage(EventIds.DeliverCallbacksLost, LogLevel.Information, "client {Client}: lease lost to another worker")]
    private partial void LogLost(int client);

    [LoggerMessage(EventIds.DeliverCallbacksFailed, LogLevel.Error, "client {Client}: calls failed, retrying later: {Reason}")]
    private partial void LogFailed(int client, string reason);

    [LoggerMessage(
        EventIds.DeliverCallbacksNoSecret, LogLevel.Error,
        "client {Client}: not called, its secret is encrypted under a HIBP_SECRET_KEY that this host doesn't have")]
    private partial void LogNoSecret(int client);
}
