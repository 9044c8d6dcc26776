using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

// Event ids 2310-2319; a contract. Only a client's number is logged, never its name, address or prefixes.
public sealed partial class DeliverCallbacks
{
    [LoggerMessage(EventIds.DeliverCallbacksCalled, LogLevel.Information,
        "client {Client}: {Accepted} calls accepted, {Others} not")]
    private partial void LogCalled(int client, long accepted, long others);

    [LoggerMessage(EventIds.DeliverCallbacksGone, LogLevel.Warning,
        "client {Client} answered 410: it is paused, and called no more until it is resumed (hibp clients resume)")]
    private partial void LogGone(int client);

    [LoggerMessage(EventIds.DeliverCallbacksLost, LogLevel.Information, "client {Client} is called elsewhere by now")]
    private partial void LogLost(int client);

    [LoggerMessage(EventIds.DeliverCallbacksFailed, LogLevel.Error, "client {Client} could not be called, and will be again: {Reason}")]
    private partial void LogFailed(int client, string reason);

    [LoggerMessage(EventIds.DeliverCallbacksNoSecret, LogLevel.Error,
        "client {Client} can't be called: its secret is sealed under another HIBP_SECRET_KEY than this host has")]
    private partial void LogNoSecret(int client);
}
