using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Stores;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

/// <summary>
/// Sends a range of a load's notifications, at the rate of the whole system. Its key is the notification: each is
/// claimed before it is sent and marked after, so a second delivery sends none that was
/// marked; only a crash between the send and the mark makes a second copy, with the same Message-ID. What one
/// recipient's server doesn't take now comes again later and holds up nobody else; while the
/// load is held or its breach hidden nothing is sent. Nothing here depends on how many notifications the load has.
/// </summary>
public sealed partial class SendNotifications(
    ILoads loads, ICatalogue catalogue, INotifications notifications, IReadLayout layout, IStoreTables tables, INotificationSender sender,
    MailSchedule mails, LoadReports reports, PipelineMessages messages, IOptions<MailOptions> options, MailService service,
    TimeProvider time, ILogger<SendNotifications> log)
    : IStage<MailMessage, MailRun>
{
    // How often somebody's server is asked again, and for how long: what RFC 5321 (4.5.4.1) has mail servers do, but
    // that the first pauses are shorter.
    private static readonly TimeSpan FirstDeferral = TimeSpan.FromMinutes(5);
    private static readonly TimeSpan LongestDeferral = TimeSpan.FromHours(4);
    private static readonly TimeSpan GiveUpAfter = TimeSpan.FromDays(3);

    // A sender reserves a minute's mails at most, and waits for its time within the invocation only where it comes
    // soon: it holds a place that others want.
    private static readonly TimeSpan MostReserved = TimeSpan.FromMinutes(1);
    private static readonly TimeSpan LongestTimeout = TimeSpan.FromSeconds(15);

    // What is wrong with its files ends the work on mails, and no other.
    private readonly Lazy<MailComposer> _composer = new(() => new MailComposer(options.Value.MailFrom, service));

    public async Task<MailRun?> TakeAsync(MailMessage message, CancellationToken cancellationToken)
    {
        if (await loads.GetLoadHeadAsync(message.Load, cancellationToken) is not { State: LoadState.Notifying, Hidden: false } load
            || await catalogue.GetBreachAsync(load.Breach, cancellationToken) is not { } breach)
        {
            return null;
        }
        HibpTelemetry.Span?.SetTag(TelemetryNames.Tags.Breach, load.Breach)
            .SetTag(TelemetryNames.Tags.First, message.First).SetTag(TelemetryNames.Tags.Last, message.Last);
        _ = _composer.Value; // before anything is claimed: this is no recipient's fault
        var order = NewOrder();
        var claims = await notifications.ClaimNotificationsAsync(load.Id, message.First, message.Last, order, cancellationToken);
        if (claims.NoneBefore is not { } notBefore)
            return new MailRun(load, breach, message, order, claims);
        // Others have the next seconds. Shortly before its time, for in the meantime somebody else may have reserved it.
        var early = order.Ahead / 2 * (1 - (Random.Shared.NextDouble() / 2));
        await SendAgainAsync(message, notBefore - early, cancellationToken);
        return null;
    }

    /// <summary>Runs until the range is sent, as far as it can be now; what can't is recorded or sent on.</summary>
    public async Task RunAsync(MailRun work, CancellationToken cancellationToken)
    {
        var (load, message) = (work.Load, work.Message);
        if (!await SendClaimedAsync(work, cancellationToken))
            return;
        if (work.Claims.More)
            await SendAgainAsync(message, TimeSpan.Zero, cancellationToken);
        else if (work.Claims.OthersHeld)
            await SendAgainAsync(message, options.Value.MailClaim, cancellationToken);
        await mails.SendNextAsync(load.Id, cancellationToken);
        if (await notifications.TryFinishLoadAsync(load.Id, CancellationToken.None))
        {
            LogDone(load.Id, load.Breach);
            await reports.ReportAsync(load.Id);
        }
    }

    /// <inheritdoc/>
    /// <remarks>One that was sent and could not be marked keeps its claim: whoever took it now would send it again.</remarks>
    public async Task ReleaseAsync(MailRun work, Exception cause) => await ReleaseRestAsync(work);

    /// <inheritdoc/>
    /// <remarks>The set-up is wrong (a login refused), or a defect: another try would meet the same. The load says so,
    /// and its resume sends what is left.</remarks>
    public async Task<bool> FailAsync(MailRun work, Exception error)
    {
        // All of them are settled: what failed is behind the mails, and comes right with another try.
        if (work.Rest is null && error is not TriesUsedUpException)
            return true;
        var load = work.Load;
        var reason = error is TriesUsedUpException ? error.Message : $"its mails can't be sent: {UnexpectedError.Reason(error)}";
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

    public string UsedUp(MailRun work) =>
        $"notifications {work.Message.First} to {work.Message.Last} were begun {work.Attempts - 1} times and ended without a word each "
        + $"time: did the process run out of memory? Mend that, then: hibp resume {work.Load.Id}";

    private ClaimOrder NewOrder()
    {
        var (claim, perSecond) = (options.Value.MailClaim, options.Value.MailsPerSecond);
        var reserved = claim / 4 < MostReserved ? claim / 4 : MostReserved;
        var timeout = claim / 8 < LongestTimeout ? claim / 8 : LongestTimeout;
        return new ClaimOrder(LoadLeases.NewOwner(), claim, (int)Math.Max(1, perSecond * reserved.TotalSeconds), perSecond, timeout);
    }

    private Task SendAgainAsync(MailMessage message, TimeSpan delay, CancellationToken cancellationToken) => messages.SendLoadMessageAsync(
        message, TimeSpan.FromTicks(Math.Clamp(delay.Ticks, 0, PipelineMessages.LongestHidden.Ticks)), cancellationToken);

    private async Task ReleaseRestAsync(MailRun work)
    {
        if (work.Rest is not var (first, last))
            return;
        await notifications.ReleaseNotificationsAsync(work.Load.Id, first, last, work.Order.Owner, CancellationToken.None);
        work.Settled = last;
    }

    /// <summary>False: the load was held or hidden meanwhile; whoever releases it has its messages sent again.</summary>
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
                    return await HeldAsync(work);
                // Half the claim is kept for the send in hand: nobody else may claim what is being sent.
                var began = time.GetElapsedTime(claimedAt);
                if (began > options.Value.MailClaim / 2)
                    throw new StoreUnavailableException(
                        "the mail server takes too long: the rest of these notifications is sent by another message");
                // From the last one on: what was late doesn't make the next come faster.
                due = (began > due ? began : due) + TimeSpan.FromSeconds(1 / order.PerSecond);
                var outcome = await SendAsync(notification, work.Breach, cancellationToken);
                work.Settled = notification.Number;
                var end = outcome is { DeferredFor: { } delay, Error: { } reason }
                    ? await DeferAsync(load.Id, notification, order.Owner, delay, reason)
                    : await notifications.CompleteNotificationAsync(notification.Id, order.Owner, outcome.Error, CancellationToken.None);
                if (!end.Recorded)
                    LogClaimLost(load.Id, notification.Number);
                _ = outcome.Error is null ? sent++ : outcome.DeferredFor is null || end.Refused ? refused++ : deferred++;
                // One that is no longer there, whose subscriber has gone, says nothing of the others.
                if (!end.MayGoOn && (end.Recorded || !await MaySendAsync(load.Id, cancellationToken)))
                    return await HeldAsync(work);
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

    private async Task<bool> HeldAsync(MailRun work)
    {
        LogHeld(work.Load.Id, work.Load.Breach, work.Settled);
        await ReleaseRestAsync(work);
        return false;
    }

    /// <summary>Whether it was so long that it is to be asked again whether mails may go out.</summary>
    private async Task<bool> WaitAsync(TimeSpan pause, CancellationToken cancellationToken)
    {
        cancellationToken.ThrowIfCancellationRequested();
        if (pause > TimeSpan.Zero)
            await Task.Delay(pause, time, cancellationToken);
        return pause > TimeSpan.FromSeconds(1);
    }

    private async Task<bool> MaySendAsync(long load, CancellationToken cancellationToken) =>
        await loads.GetLoadHeadAsync(load, cancellationToken) is { State: LoadState.Notifying, Hidden: false };

    private Task<NotificationEnd> DeferAsync(long load, Notification notification, string owner, TimeSpan delay, string reason)
    {
        LogDeferred(load, notification.Number, delay, reason);
        return notifications.DeferNotificationAsync(notification.Id, owner, reason, delay, GiveUpAfter, CancellationToken.None);
    }

    /// <summary>
    /// Doubled each time; up to a quarter less, so that those who were deferred together don't come back together,
    /// but never less than the first.
    /// </summary>
    internal static TimeSpan Deferral(int deferrals)
    {
        var pause = FirstDeferral * Math.Pow(2, Math.Clamp(deferrals, 0, 10));
        var spread = (pause < LongestDeferral ? pause : LongestDeferral) * (1 - (Random.Shared.NextDouble() / 4));
        return spread > FirstDeferral ? spread : FirstDeferral;
    }

    private async Task<Outcome> SendAsync(Notification notification, Breach breach, CancellationToken cancellationToken)
    {
        if (breach.Metadata.Flags.HasFlag(BreachFlags.Retired))
            return new Outcome("the breach was retired before this was sent", null);
        try
        {
            var (accounts, complete) = notification.Domain is { } domain
                ? await AccountsAsync(domain, breach.Marks, cancellationToken) : (null, true);
            var counted = accounts is null ? notification
                : notification with { Accounts = complete ? accounts.Count : Math.Max(notification.Accounts, accounts.Count + 1) };
            await sender.SendAsync(_composer.Value.Compose(counted, breach, accounts, complete, time.GetUtcNow()), cancellationToken);
            return new Outcome(null, null);
        }
        catch (BadInputException e)
        {
            return new Outcome(e.Message, null);
        }
        catch (RecipientDeferredException e)
        {
            return new Outcome(e.Message, Deferral(notification.Deferrals));
        }
    }

    /// <summary>
    /// The domain's accounts in the breach, all its loads together, from the table: SQL's rows have no index
    /// for it and may have been purged.
    /// </summary>
    /// <exception cref="RecipientDeferredException">The table throttles, or is down: one domain's listing holds
    /// up nobody else.</exception>
    private async Task<(IReadOnlyList<string> Accounts, bool Complete)> AccountsAsync(
        string domain, IReadOnlyList<int> marks, CancellationToken cancellationToken)
    {
        var accounts = new List<string>();
        try
        {
            // The layout that is read has every account; another one may still be filled.
            var facts = (await layout.GetReadLayoutAsync(cancellationToken) ?? StoreLayout.First).Facts;
            foreach (var (partition, account) in new LayoutPlacement(facts).FindAll(domain))
            {
                var table = tables.Accounts(new TablePlace(account, facts.AccountsTable));
                await foreach (var alias in table.ListAliasesAsync(partition, marks, cancellationToken))
                {
                    if (accounts.Count == MailComposer.MaxAttachedAccounts)
                        return (accounts, false);
                    accounts.Add($"{alias}@{domain}");
                }
            }
        }
        catch (StoreUnavailableException e)
        {
            throw new RecipientDeferredException($"the domain's accounts can't be listed now: {e.Message}");
        }
        return (accounts, true);
    }

    /// <summary>What came of a mail: sent (no error), refused for good, or to be tried again after a pause.</summary>
    private readonly record struct Outcome(string? Error, TimeSpan? DeferredFor);
}
