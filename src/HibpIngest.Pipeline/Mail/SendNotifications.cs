namespace HibpIngest.Pipeline.Mail;

/// <summary>
/// Sends a range of a load's notifications, at the rate of the whole installation. Idempotency key: the notification. Each is claimed
/// before it is sent and marked afterwards, so a redelivery sends none that is marked; only a crash between the two causes a second copy,
/// with the same Message-ID. If a recipient's server defers a notification, it is retried later; the others don't wait. While the load is
/// held or its breach hidden, nothing is sent. The cost doesn't depend on the load's number of notifications.
/// </summary>
public sealed partial class SendNotifications(
    IBreachDatabase database, NotificationMails notificationMails, MailSchedule schedule, LoadReports reports,
    IOptions<MailOptions> options, TimeProvider time, ILogger<SendNotifications> log)
    : IStage<MailMessage, MailRun>
{
    private static readonly TimeSpan GiveUpAfter = TimeSpan.FromDays(3);

    // A sender reserves at most one minute of the mail rate. It waits for its reservation only if that begins within LongestTimeout: a
    // waiting invocation takes the place of another message.
    private static readonly TimeSpan MaxReserved = TimeSpan.FromMinutes(1);
    private static readonly TimeSpan LongestTimeout = TimeSpan.FromSeconds(15);

    // An address is suppressed after this many consecutive "unknown recipient" refusals: one may be the server's mistake.
    private const int UnknownRefusalsBeforeSuppression = 2;

    public async Task<MailRun?> ClaimAsync(MailMessage message, CancellationToken cancellationToken)
    {
        if (await database.GetLoadHeadAsync(message.LoadId, cancellationToken) is not { State: LoadState.Notifying, Hidden: false } load
            || await database.GetBreachAsync(load.Breach, cancellationToken) is not { } breach)
        {
            return null;
        }
        HibpTelemetry.Span?.SetTag(TelemetryNames.Tags.Breach, load.Breach)
            .SetTag(TelemetryNames.Tags.First, message.First).SetTag(TelemetryNames.Tags.Last, message.Last);
        notificationMails.Prepare(); // before anything is claimed: an error here is no recipient's fault
        var order = NewOrder();
        var claims = await database.ClaimNotificationsAsync(load.Id, message.First, message.Last, order, cancellationToken);
        if (claims.RetryAfter is not { } retryAfter)
            return new MailRun(load, breach, message, order, claims);
        // Other senders have reserved the rate until then. Sent again before that time, the message can reserve ahead of them.
        var early = order.MaxLeadTime / 2 * (1 - (Random.Shared.NextDouble() / 2));
        await schedule.SendAgainAsync(message, retryAfter - early, cancellationToken);
        return null;
    }

    public async Task RunAsync(MailRun work, CancellationToken cancellationToken)
    {
        var (load, message) = (work.Load, work.Message);
        if (!await SendClaimedAsync(work, cancellationToken))
            return;
        if (work.Claims.HasMore)
            await schedule.SendAgainAsync(message, TimeSpan.Zero, cancellationToken);
        else if (work.Claims.HeldByOthers)
            await schedule.SendAgainAsync(message, options.Value.MailClaim, cancellationToken);
        await schedule.SendNextAsync(load.Id, cancellationToken);
        if (await database.TryFinishLoadAsync(load.Id, CancellationToken.None))
        {
            LogDone(load.Id.Value, load.Breach);
            await reports.ReportAsync(load.Id);
        }
    }

    // A notification that was sent but could not be marked keeps its claim; otherwise another sender would send it again.
    public Task ReleaseAsync(MailRun work, Exception cause) => ReleaseRestAsync(work);

    // An error here is a wrong setting (a refused login) or a defect, so a retry would fail too. 'hibp load resume' sends the rest.
    public async Task<bool> FailAsync(MailRun work, Exception error)
    {
        // All notifications are settled: what failed came after the mails, and a retry fixes it.
        if (work.Rest is null && error is not RetriesExhaustedException)
            return true;
        var load = work.Load;
        var reason = error is RetriesExhaustedException ? error.Message : $"its mails can't be sent: {UnexpectedError.Reason(error)}";
        try
        {
            await reports.FailAsync(load.Id, load.Blob, owner: null, reason);
        }
        finally
        {
            await ReleaseRestAsync(work);
        }
        LogStopped(load.Id.Value, load.Breach, error is HibpException ? reason : UnexpectedError.Describe(error));
        return false;
    }

    public string DescribeExhaustedRetries(MailRun work) =>
        $"sending notifications {work.Message.First} to {work.Message.Last} was started {work.Attempts - 1} times and ended without a "
        + $"result each time: did the process run out of memory? Fix that, then run: hibp load resume {work.Load.Id}";

    private ClaimOrder NewOrder()
    {
        var (claim, perSecond) = (options.Value.MailClaim, options.Value.MailsPerSecond);
        var reserved = claim / 4 < MaxReserved ? claim / 4 : MaxReserved;
        var timeout = claim / 8 < LongestTimeout ? claim / 8 : LongestTimeout;
        return new ClaimOrder(LoadLeases.NewOwner(), claim, (int)Math.Max(1, perSecond * reserved.TotalSeconds), perSecond, timeout);
    }

    private async Task ReleaseRestAsync(MailRun work)
    {
        if (work.Rest is not var (first, last))
            return;
        await database.ReleaseClaimsAsync(work.Load.Id, first, last, work.Order.Owner, CancellationToken.None);
        work.Settled = last;
    }

    /// <returns>False if the load was held or its breach hidden meanwhile; releasing or unhiding it resends its messages.</returns>
    private async Task<bool> SendClaimedAsync(MailRun work, CancellationToken cancellationToken)
    {
        var (load, order) = (work.Load, work.Order);
        var claimedAt = time.GetTimestamp();
        var (sent, refused, deferred) = (0, 0, 0);
        var due = work.Claims.StartsIn;
        try
        {
            foreach (var notification in work.Claims.Claimed)
            {
                var waitedLong = await WaitAsync(due - time.GetElapsedTime(claimedAt), cancellationToken);
                if (waitedLong && !await MaySendAsync(load.Id, cancellationToken))
                    return await StopHeldAsync(work);
                // A send may take half of the claim. As none begins after the first half, no other sender can claim the notification.
                var began = time.GetElapsedTime(claimedAt);
                if (began > options.Value.MailClaim / 2)
                    throw new UnavailableException($"the mail server is too slow: half of HIBP_MAILCLAIM ({options.Value.MailClaim}) "
                        + "has passed; the remaining mails are sent in a later attempt");
                // The time is counted from the previous mail: a delay doesn't make the next mails come faster.
                due = (began > due ? began : due) + TimeSpan.FromSeconds(1 / order.PerSecond);
                var outcome = await notificationMails.SendAsync(notification, work.Breach, cancellationToken);
                work.Settled = notification.Number;
                var end = outcome is { DeferredFor: { } delay, Refusal.Error: { } reason }
                    ? await DeferAsync(load.Id, notification, order.Owner, delay, reason)
                    : await database.CompleteNotificationAsync(notification.Id, order.Owner, outcome.Refusal, CancellationToken.None);
                if (end is { Recorded: true, UnknownInARow: >= UnknownRefusalsBeforeSuppression }
                    && await notificationMails.SuppressAsync(notification))
                    LogSuppressed(load.Id.Value, notification.Number, end.UnknownInARow);
                if (!end.Recorded)
                    LogClaimLost(load.Id.Value, notification.Number);
                if (outcome.Refusal is null)
                    sent++;
                else if (outcome.DeferredFor is null || end.Refused)
                    refused++;
                else
                    deferred++;
                // A notification that no longer exists, because its subscriber was removed, says nothing about the others.
                if (!end.MayContinue && (end.Recorded || !await MaySendAsync(load.Id, cancellationToken)))
                    return await StopHeldAsync(work);
            }
            return true;
        }
        finally
        {
            LogSent(load.Id.Value, load.Breach, work.Message.First, work.Message.Last, sent, refused, deferred);
            HibpTelemetry.Notified(sent, refused);
            HibpTelemetry.Span?.SetTag(TelemetryNames.Tags.Sent, sent).SetTag(TelemetryNames.Tags.Refused, refused);
        }
    }

    private async Task<bool> StopHeldAsync(MailRun work)
    {
        LogHeld(work.Load.Id.Value, work.Load.Breach, work.Settled);
        await ReleaseRestAsync(work);
        return false;
    }

    /// <returns>True if the wait was so long that the permission to send must be checked again.</returns>
    private async Task<bool> WaitAsync(TimeSpan pause, CancellationToken cancellationToken)
    {
        cancellationToken.ThrowIfCancellationRequested();
        if (pause > TimeSpan.Zero)
            await Task.Delay(pause, time, cancellationToken);
        return pause > TimeSpan.FromSeconds(1);
    }

    private async Task<bool> MaySendAsync(LoadId load, CancellationToken cancellationToken) =>
        await database.GetLoadHeadAsync(load, cancellationToken) is { State: LoadState.Notifying, Hidden: false };

    private Task<NotificationOutcome> DeferAsync(LoadId load, Notification notification, string owner, TimeSpan delay, string reason)
    {
        LogDeferred(load.Value, notification.Number, delay, reason);
        return database.DeferNotificationAsync(notification.Id, owner, reason, delay, GiveUpAfter, CancellationToken.None);
    }

    [LoggerMessage(
        EventIds.SendNotificationsSent, LogLevel.Information,
        "load {Load} of {Breach}: notifications {First} to {Last} processed ({Sent} sent, {Refused} refused, {Deferred} deferred)")]
    private partial void LogSent(long load, string breach, int first, int last, int sent, int refused, int deferred);

    [LoggerMessage(
        EventIds.SendNotificationsClaimLost, LogLevel.Warning,
        "load {Load}: notification {Number} sent after its claim expired; a second copy is possible")]
    private partial void LogClaimLost(long load, int number);

    [LoggerMessage(EventIds.SendNotificationsStopped, LogLevel.Error, "load {Load} of {Breach}: notifying failed: {Reason}")]
    private partial void LogStopped(long load, string breach, string reason);

    [LoggerMessage(EventIds.SendNotificationsDone, LogLevel.Information, "load {Load} of {Breach}: done")]
    private partial void LogDone(long load, string breach);

    [LoggerMessage(
        EventIds.SendNotificationsDeferred, LogLevel.Warning, "load {Load}: notification {Number} deferred for {Delay}: {Reason}")]
    private partial void LogDeferred(long load, int number, TimeSpan delay, string reason);

    [LoggerMessage(
        EventIds.SendNotificationsSuppressed, LogLevel.Information,
        "load {Load}: recipient of notification {Number} suppressed as unknown ({Refusals} refusals)")]
    private partial void LogSuppressed(long load, int number, int refusals);

    [LoggerMessage(
        EventIds.SendNotificationsHeld, LogLevel.Information,
        "load {Load} of {Breach}: sending stopped after notification {Number}, because the breach is hidden or its mails are held")]
    private partial void LogHeld(long load, string breach, int number);
}

/// <summary>The notifications that one message has claimed, and the last one that was sent, refused or deferred.</summary>
public sealed record MailRun(LoadHead Load, Breach Breach, MailMessage Message, ClaimOrder Order, NotificationClaims Claims) : IStageWork
{
    public LoadId LoadId => Load.Id;

    public int Attempts => Claims.Claimed.Select(one => one.Attempts).DefaultIfEmpty().Max();

    string IStageWork.Breach => Load.Breach;

    /// <summary>Number of the last notification that no longer needs its claim.</summary>
    internal int Settled { get; set; } = Message.First - 1;

    /// <summary>Range of notifications whose claims must be released. Null if there are none.</summary>
    internal (int First, int Last)? Rest =>
        Claims.Claimed.Count > 0 && Settled < Claims.Claimed[^1].Number ? (Settled + 1, Message.Last) : null;

    // The claims hold addresses, which ToString must not show.
    private bool PrintMembers(System.Text.StringBuilder builder) => false;
}
