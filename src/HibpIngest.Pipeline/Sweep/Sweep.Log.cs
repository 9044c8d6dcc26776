using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

// Event ids 1400-1499; a contract.
public sealed partial class Sweep
{
    [LoggerMessage(1400, LogLevel.Warning, "load {Load}: its {Stage} message was lost; sent again")]
    private partial void LogResent(long load, string stage);

    [LoggerMessage(1401, LogLevel.Warning, "{Slices} slice messages were lost; sent again")]
    private partial void LogSlicesResent(int slices);
}
