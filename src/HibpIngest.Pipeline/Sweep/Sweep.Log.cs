using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

// Event ids 1400-1499; a contract.
public sealed partial class Sweep
{
    [LoggerMessage(EventIds.SweepResent, LogLevel.Warning, "load {Load}: its {Stage} message was lost; sent again")]
    private partial void LogResent(long load, string stage);

    [LoggerMessage(EventIds.SweepClientsResent, LogLevel.Warning, "{Clients} clients' messages were lost, or are due now; sent again")]
    private partial void LogClientsResent(int clients);

    [LoggerMessage(EventIds.SweepSlicesResent, LogLevel.Warning, "{Slices} slice messages were lost; sent again")]
    private partial void LogSlicesResent(int slices);
}
