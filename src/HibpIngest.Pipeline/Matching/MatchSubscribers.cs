using HibpIngest.Pipeline.Callbacks;
using HibpIngest.Pipeline.Catalogue;
using HibpIngest.Pipeline.Ingest;
using HibpIngest.Pipeline.Journal;
using HibpIngest.Pipeline.Mail;

namespace HibpIngest.Pipeline.Matching;

/// <summary>
/// Finds the subscribers and domains that a load affects, in SQL, one range of positions at a time, and then finishes the match.
/// Idempotency key: the load, under its lease. A redelivery is deferred until a live lease has ended, resumes after the last step, or finds
/// the load in a later state. Notifications are unique, so repeating a step adds none. For a load that is already notifying, it sends the
/// outstanding mail messages.
/// </summary>
public sealed partial class MatchSubscribers(
    ILoads loads, IMatching matching, IBreachBlobs blobs, PublishCatalogue catalogue, LoadLeases leases, MailSchedule mails,
    JournalSchedule log, CallSchedule calls, LoadReports reports, IOptions<MailOptions> mail, IOptions<IngestOptions> ingest,
    TimeProvider time, ILogger<MatchSubscribers> logger)
    : IStage<MatchMessage, LoadLease>
{
    // Each notification is inserted, indexed three times and logged: some seconds on a small database tier.
    private const int MaxStepRows = 50_000;

    // An exact count reads the whole load once for each part. A part covers this many ranges, sorted in the server's temporary space.
    private const int CountRanges = 20;

    public async Task<LoadLease?> ClaimAsync(MatchMessage message, CancellationToken cancellationToken)
    {
        var head = await loads.GetLoadHeadAsync(message.Load, cancellationToken);
        if (head is { State: LoadState.Notifying })
            await mails.SendNextAsync(head.Id, cancellationToken);
        return head is { State: LoadState.Matching, Stopped: false } ? await leases.ClaimAsync(head, message, cancellationToken) : null;
    }

    public async Task RunAsync(LoadLease work, CancellationToken cancellationToken)
    {
        var load = work.Load;
        var span = HibpTelemetry.Span?.SetTag(TelemetryNames.Tags.Accounts, load.Accounts);
        if (await MatchAsync(work, cancellationToken) is not { } state)
            return;
        if (state == LoadState.Notifying)
            await mails.SendNextAsync(load.Id, cancellationToken);
        await calls.LookThroughAsync(load.Id, cancellationToken);
        await log.SendAsync(load.Id, cancellationToken);
        var matched = await loads.GetLoadAsync(load.Id, CancellationToken.None) ?? load;
        // A change from its zip's metadata must reach the breach's other loads in the journal too. LogLoad does that if this load counts.
        if (matched.PublishedAt is null)
            await log.SendAsync(load.Breach, cancellationToken);
        LogMatched(load.Id, load.Breach, matched.Notifications.Total, state);
        reports.Report(matched);
        span?.SetTag(TelemetryNames.Tags.Notifications, matched.Notifications.Total);
    }

    public async Task ReleaseAsync(LoadLease work, Exception cause)
    {
        if (cause is LoadLostException)
            LogLost(work.Load.Id);
        await leases.ReleaseAsync(work);
    }

    // A defect would recur with the same rows, so it is recorded on the load; resuming the load continues the match.
    public async Task<bool> FailAsync(LoadLease work, Exception error)
    {
        var (load, isInput) = (work.Load, error is BadInputException);
        var reason = isInput ? error.Message
            : $"unexpected {error.GetType().Name} in matching; see the log, then: hibp load resume {load.Id}";
        await reports.FailAsync(load.Id, load.Blob, work.Owner, reason);
        LogFailed(load.Id, load.Breach, isInput ? reason : UnexpectedError.Describe(error));
        return false;
    }

    public string DescribeExhaustedRetries(LoadLease work) =>
        $"its matching was started {work.Load.Attempts - 1} times and ended without a result each time: did the process run out of memory, "
        + $"or meet its plan's time limit with one step (of at most {mail.Value.MatchRows} rows, HIBP_MATCHROWS)? Fix that, then run: hibp "
        + $"load resume {work.Load.Id}";

    /// <returns>The new state; null: not finished, and another message continues.</returns>
    private async Task<LoadState?> MatchAsync(LoadLease work, CancellationToken cancellationToken)
    {
        var load = work.Load;
        var began = time.GetTimestamp();
        bool IsExhausted() => ingest.Value.TimeBudget > TimeSpan.Zero && time.GetElapsedTime(began) >= ingest.Value.TimeBudget;

        for (var after = load.MatchedPosition; after < load.LastPosition;)
        {
            var upTo = Math.Min(after + mail.Value.MatchRows, load.LastPosition);
            if (!await matching.MatchRowsAsync(load.Id, after, upTo, ingest.Value.LoadLease, work.Token))
                throw new LoadLostException(load.Id);
            after = upTo;
            if (IsExhausted())
                return await HandOnAsync(work);
        }

        // Read again, because the metadata may arrive after the zip. It decides whether mails are sent.
        var metadata = await MetadataFile.ReadAsync(blobs, load.Blob.Name, load.Breach, work.Token);
        var end = new MatchEnd(metadata.Document, mail.Value.Notify == NotifyMode.Hold, metadata.HeldBecause(load.Id))
        {
            StepRows = Math.Min(mail.Value.MatchRows, MaxStepRows),
            CountRows = (long)mail.Value.MatchRows * CountRanges,
            Lease = ingest.Value.LoadLease,
            CallsClients = await calls.HasClientsAsync(work.Token),
        };
        while (true)
        {
            // For each step, because any may be the last: a mark that is older than a step would no longer be honoured.
            var change = await catalogue.BeginChangeAsync(work.Token);
            switch (await matching.FinishMatchingAsync(load.Id, end, work.Token))
            {
                case null:
                    throw new LoadLostException(load.Id);
                case not LoadState.Matching and var state:
                    // Mails are sent even if readers don't see the load yet. The lease ended with the match.
                    await change.TryPublishAsync(cancellationToken);
                    return state;
            }
            await change.AbandonAsync(work.Token);
            if (IsExhausted())
                return await HandOnAsync(work);
        }
    }

    private async Task<LoadState?> HandOnAsync(LoadLease work)
    {
        await leases.HandOnAsync(work, new MatchMessage { Load = work.Load.Id });
        LogHandedOn(work.Load.Id, work.Load.Breach);
        return null;
    }

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
