namespace HibpIngest.Pipeline.Mail;

/// <summary>
/// Sends a range of a load's notifications, at the rate of the whole installation. Idempotency key: the notification. Each is claimed
/// before it is sent and marked afterwards, so a redelivery sends none that is marked; only a crash between the two causes a second copy,
/// with the same Message-ID. A notification that its recipient's server defers is retried later and delays no other. While the load is held
/// or its breach hidden, nothing is sent. The cost doesn't depend on the load's number of notifications.
/// </summary>
public sealed partial class SendNotifications(
    IBreachDatabase database, NotificationMails notificationMails, MailSchedule mails, LoadReports reports, IOptions<MailOptions> options,
    TimeProvider time, ILogger<SendNotifications> log)
    : IStage<MailMessage, MailRun>
{
    private static readonly TimeSpan GiveUpAfter = TimeSpan.FromDays(3);

    // A sender reserves at most a minute of mails, and waits for its time within the invocation only if that comes soon: a waiting
    // invocation occupies a place that other messages need.
    private static readonly TimeSpan MaxReserved = TimeSpan.FromMinutes(1);
    private static readonly TimeSpan LongestTimeout = TimeSpan.FromSeconds(15);

    // Refusals in a row, after which an address is taken for unknown: one may be a server's mistake.
    private const int MaxUnknown = 2;

    public async Task<MailRun?> ClaimAsync(MailMessage message, CancellationToken cancellationToken)
    {
        if (await database.GetLoadHeadAsync(message.Load, cancellationToken) is not { State: LoadState.Notifying, Hidden: false } load
            || await database.GetBreachAsync(load.Breach, cancellationToken) is not { } breach)
        {
            return null;
        }
        HibpTelemetry.Span?.SetTag(TelemetryNames.Tags.Breach, load.Breach)
            .SetTag(TelemetryNames.Tags.First, message.First).SetTag(TelemetryNames.Tags.Last, message.Last);
        notificationMails.Prepare(); // before anything is claimed: an error here is no recipient's fault
        var order = NewOrder();
        var claims = await database.ClaimNotificationsAsync(load.Id, message.First, message.Last, order, cancellationToken);
        if (claims.NoneBefore is not { } notBefore)
            return new MailRun(load, breach, message, order, claims);
        // Others have reserved the next seconds. Sent again shortly before its time, because another sender may reserve that meanwhile.
        var early = order.Ahead / 2 * (1 - (Random.Shared.NextDouble() / 2));
        await mails.SendAgainAsync(message, notBefore - early, cancellationToken);
        return null;
    }

    public async Task RunAsync(MailRun work, CancellationToken cancellationToken)
    {
        var (load, message) = (work.Load, work.Message);
        if (!await SendClaimedAsync(work, cancellationToken))
            return;
        if (work.Claims.More)
            await mails.SendAgainAsync(message, TimeSpan.Zero, cancellationToken);
        else if (work.Claims.OthersHeld)
            await mails.SendAgainAsync(message, options.Value.MailClaim, cancellationToken);
        await mails.SendNextAsync(load.Id, cancellationToken);
        if (await database.TryFinishLoadAsync(load.Id, CancellationToken.None))
        {
            LogDone(load.Id, load.Breach);
            await reports.ReportAsync(load.Id);
        }
    }

    // A notification that was sent but could not be marked keeps its claim; otherwise another sender would send it again.
    public Task ReleaseAsync(MailRun work, Exception cause) => ReleaseRestAsync(work);

    // Caused by the set-up (a refused login) or a defect, so a retry would fail too. Resuming the load sends the rest.
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
        LogStopped(load.Id, load.Breach, error is HibpException ? reason : UnexpectedError.Describe(error));
        return false;
    }

    public string DescribeExhaustedRetries(MailRun work) =>
        $"notifications {work.Message.First} to {work.Message.Last} were started {work.Attempts - 1} times and ended without a result each "
        + $"time: did the process run out of memory? Fix that, then run: hibp load resume {work.Load.Id}";

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
        await database.ReleaseNotificationsAsync(work.Load.Id, first, last, work.Order.Owner, CancellationToken.None);
        work.Settled = last;
    }

    /// <returns>False if the load was held or hidden meanwhile; releasing it sends its messages again.</returns>
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
                // Half of the claim is reserved for the current send, so that no other sender claims the notification meanwhile.
                var began = time.GetElapsedTime(claimedAt);
                if (began > options.Value.MailClaim / 2)
                    throw new StoreUnavailableException(
                        "the mail server takes too long: the rest of these notifications is sent by another message");
                // Counted from the previous mail: a delay doesn't make the next mails come faster.
                due = (began > due ? began : due) + TimeSpan.FromSeconds(1 / order.PerSecond);
                var outcome = await notificationMails.SendAsync(notification, work.Breach, cancellationToken);
                work.Settled = notification.Number;
                var end = outcome is { DeferredFor: { } delay, Refusal.Error: { } reason }
                    ? await DeferAsync(load.Id, notification, order.Owner, delay, reason)
                    : await database.CompleteNotificationAsync(notification.Id, order.Owner, outcome.Refusal, CancellationToken.None);
                if (end is { Recorded: true, Unknown: >= MaxUnknown } && await notificationMails.SuppressAsync(notification))
                    LogSuppressed(load.Id, notification.Number, end.Unknown);
                if (!end.Recorded)
                    LogClaimLost(load.Id, notification.Number);
                _ = outcome.Refusal is null ? sent++ : outcome.DeferredFor is null || end.Refused ? refused++ : deferred++;
                // A notification that no longer exists, because its subscriber was removed, says nothing about the others.
                if (!end.MayContinue && (end.Recorded || !await MaySendAsync(load.Id, cancellationToken)))
                    return await StopHeldAsync(work);
            }
            return true;
        }
        finally
        {
            LogSent(load.Id, load.Breach, work.Message.First, work.Message.Last, sent, refused, deferred);
            HibpTelemetry.Notified(sent, refused);
            HibpTelemetry.Span?.SetTag(TelemetryNames.Tags.Sent, sent).SetTag(TelemetryNames.Tags.Refused, refused);
        }
    }

    private async Task<bool> StopHeldAsync(MailRun work)
    {
        LogHeld(work.Load.Id, work.Load.Breach, work.Settled);
        await ReleaseRestAsync(work);
        return false;
    }

    /// <summary>Waits. Returns whether that took so long that the permission to send must be checked again.</summary>
    private async Task<bool> WaitAsync(TimeSpan pause, CancellationToken cancellationToken)
    {
        cancellationToken.ThrowIfCancellationRequested();
        if (pause > TimeSpan.Zero)
            await Task.Delay(pause, time, cancellationToken);
        return pause > TimeSpan.FromSeconds(1);
    }

    private async Task<bool> MaySendAsync(long load, CancellationToken cancellationToken) =>
        await database.GetLoadHeadAsync(load, cancellationToken) is { State: LoadState.Notifying, Hidden: false };

    private Task<NotificationEnd> DeferAsync(long load, Notification notification, string owner, TimeSpan delay, string reason)
    {
        LogDeferred(load, notification.Number, delay, reason);
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
        EventIds.SendNotificationsHeld, LogLevel.Information, "load {Load} of {Breach}: mails held or hidden after notification {Number}")]
    private partial void LogHeld(long load, string breach, int number);
}

/// <summary>The notifications that one message has claimed, and how many of them are settled.</summary>
public sealed record MailRun(LoadHead Load, Breach Breach, MailMessage Message, ClaimOrder Order, NotificationClaims Claims) : IStageWork
{
    public long LoadId => Load.Id;

    public int Attempts => Claims.Claimed.Select(one => one.Attempts).DefaultIfEmpty().Max();

    string IStageWork.Breach => Load.Breach;

    /// <summary>Number of the last notification that no longer needs its claim.</summary>
    internal int Settled { get; set; } = Message.First - 1;

    /// <summary>Range of notifications whose claims must be released; null: none.</summary>
    internal (int First, int Last)? Rest =>
        Claims.Claimed.Count > 0 && Settled < Claims.Claimed[^1].Number ? (Settled + 1, Message.Last) : null;

    // The claims hold addresses, which ToString must not show.
    private bool PrintMembers(System.Text.StringBuilder builder) => false;
}
