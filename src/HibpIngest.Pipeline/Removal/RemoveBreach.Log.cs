namespace HibpIngest.Pipeline.Removal;

// Event ids 1800-1899; a contract.
public sealed partial class RemoveBreach
{
    [LoggerMessage(
        EventIds.RemoveBreachBegun, LogLevel.Information, "removal of {Breach}: started, hidden from all readers ({Loads} loads)")]
    private partial void LogBegun(string breach, int loads);

    [LoggerMessage(EventIds.RemoveBreachWaiting, LogLevel.Information, "removal of {Breach}: waiting for a slice in progress")]
    private partial void LogWaiting(string breach);

    [LoggerMessage(EventIds.RemoveBreachMarkStays, LogLevel.Warning, "mark {Mark}: kept on the accounts because another load has it")]
    private partial void LogMarkStays(int mark);

    [LoggerMessage(EventIds.RemoveBreachRemoved, LogLevel.Information, "load {Load} of {Breach}: removed")]
    private partial void LogRemoved(string breach, long load);

    [LoggerMessage(EventIds.RemoveBreachPaused, LogLevel.Information, "removal: paused for {Pause}: {Reason}")]
    private partial void LogPaused(string reason, TimeSpan pause);
}
