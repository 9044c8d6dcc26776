namespace HibpIngest.Pipeline.Sweeping;

// Event ids 1400-1499; a contract.
public sealed partial class Sweep
{
    [LoggerMessage(EventIds.SweepResent, LogLevel.Warning, "load {Load}: lost {Stage} message sent again")]
    private partial void LogResent(long load, string stage);

    [LoggerMessage(EventIds.SweepClientsResent, LogLevel.Warning, "callbacks: lost or due messages of {Clients} clients sent again")]
    private partial void LogClientsResent(int clients);

    [LoggerMessage(EventIds.SweepSlicesResent, LogLevel.Warning, "slices: {Slices} lost messages sent again")]
    private partial void LogSlicesResent(int slices);
}
