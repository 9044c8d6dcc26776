namespace HibpIngest.Pipeline.Matching;

/// <summary>
/// Finds the subscribers and domains that a load affects, in SQL, one range of positions at a time, and then finishes the match.
/// Idempotency key: the load, under its lease. A redelivery is deferred until a live lease has ended, resumes after the last step, or finds
/// the load in a later state. Notifications are unique, so repeating a step adds none. For a load that is already notifying, it sends the
/// outstanding mail messages.
/// </summary>
public sealed partial class MatchSubscribers(
    ILoads loads, MatchLoad match, LoadLeases leases, LoadSchedules schedules, LoadReports reports, ILogger<MatchSubscribers> logger)
    : IStage<MatchMessage, LoadLease>
{
    public async Task<LoadLease?> ClaimAsync(MatchMessage message, CancellationToken cancellationToken)
    {
        var (lease, found) = await leases.ClaimAsync(message.LoadId, LoadState.Matching, message, cancellationToken);
        if (found is { State: LoadState.Notifying })
            await schedules.Mails.SendNextAsync(found.Id, cancellationToken);
        return lease;
    }

    public async Task RunAsync(LoadLease work, CancellationToken cancellationToken)
    {
        var load = work.Load;
        var span = HibpTelemetry.Span?.SetTag(TelemetryNames.Tags.Accounts, load.Accounts);
        if (await match.RunAsync(work, cancellationToken) is not { } state)
        {
            await leases.HandOnAsync(work, new MatchMessage { Load = load.Id.Value });
            LogHandedOn(load.Id.Value, load.Breach);
            return;
        }
        if (state == LoadState.Notifying)
            await schedules.Mails.SendNextAsync(load.Id, cancellationToken);
        await schedules.Calls.LookThroughAsync(load.Id, cancellationToken);
        await schedules.Journal.SendAsync(load.Id, cancellationToken);
        // Read again: the match has changed its state and its notifications.
        var matched = await loads.GetLoadAsync(load.Id, CancellationToken.None) ?? load;
        // A change from its zip's metadata must reach the breach's other loads in the journal. If it is published, WriteJournal does it.
        if (matched.PublishedAt is null)
            await schedules.Journal.SendAsync(load.Breach, cancellationToken);
        LogMatched(load.Id.Value, load.Breach, matched.Notifications.Total, state);
        reports.Report(matched);
        span?.SetTag(TelemetryNames.Tags.Notifications, matched.Notifications.Total);
    }

    public async Task ReleaseAsync(LoadLease work, Exception cause)
    {
        if (cause is LoadLostException)
            LogLost(work.Load.Id.Value);
        await leases.ReleaseAsync(work);
    }

    // A defect would recur with the same rows, so it is recorded on the load; resuming the load continues the match.
    public async Task<bool> FailAsync(LoadLease work, Exception error)
    {
        var (load, isInput) = (work.Load, error is BadInputException);
        var reason = isInput ? error.Message
            : $"unexpected {error.GetType().Name} in matching; see the log, then: hibp load resume {load.Id}";
        await reports.FailAsync(load.Id, load.Blob, work.Owner, reason);
        LogFailed(load.Id.Value, load.Breach, isInput ? reason : UnexpectedError.Describe(error));
        return false;
    }

    public string DescribeExhaustedRetries(LoadLease work) =>
        $"its matching was started {work.Load.Attempts - 1} times and ended without a result each time: did the process run out of memory, "
        + $"or reach its plan's time limit within one step ({match.StepRows} rows; lower HIBP_MATCHROWS)? Fix that, then run: hibp "
        + $"load resume {work.Load.Id}";

    [LoggerMessage(
        EventIds.MatchSubscribersMatched, LogLevel.Information,
        "load {Load} of {Breach}: matched ({Notifications} notifications), now {State}")]
    private partial void LogMatched(long load, string breach, int notifications, LoadState state);

    [LoggerMessage(EventIds.MatchSubscribersFailed, LogLevel.Error, "load {Load} of {Breach}: matching failed: {Reason}")]
    private partial void LogFailed(long load, string breach, string reason);

    [LoggerMessage(
        EventIds.MatchSubscribersHandedOn, LogLevel.Information,
        "load {Load} of {Breach}: matching time budget used up, continued by a message")]
    private partial void LogHandedOn(long load, string breach);

    [LoggerMessage(EventIds.MatchSubscribersLost, LogLevel.Information, "load {Load}: matching stopped, lease lost to another worker")]
    private partial void LogLost(long load);
}
