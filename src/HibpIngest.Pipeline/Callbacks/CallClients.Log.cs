namespace HibpIngest.Pipeline.Callbacks;

// Event ids 2300-2309; a contract.
public sealed partial class CallClients
{
    [LoggerMessage(
        EventIds.CallClientsLookedThrough, LogLevel.Information, "load {Load} slice {Slice}: {Calls} calls to {Clients} clients found")]
    private partial void LogLookedThrough(long load, int slice, int clients, long calls);

    [LoggerMessage(
        EventIds.CallClientsFailed, LogLevel.Error, "load {Load} slice {Slice}: search for clients to call failed: {Reason}; {Next}")]
    private partial void LogFailed(long load, int slice, string reason, string next);
}
