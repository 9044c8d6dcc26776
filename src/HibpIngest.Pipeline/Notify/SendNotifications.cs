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
public sealed partial class SendNotifications(PipelineContext context)
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

    private readonly ILogger _log = context.Logs.CreateLogger<SendNotifications>();
    private readonly MailComposer _composer = new(context.Options.MailFrom);

    /// <summary>Runs until the range is sent, as far as it can be now; what can't is recorded or sent on.</summary>
    public async Task RunAsync(MailMessage message, CancellationToken cancellationToken)
    {
        var head = await context.Database.GetLoadHeadAsync(message.Load, cancellationToken);
        if (head is not { State: LoadState.Notifying, Hidden: false } load
            || await context.Database.GetBreachAsync(load.Breach, cancellationToken) is not { } breach)
        {
            return;
        }
        HibpTelemetry.Span?.SetTag(TelemetryNames.Tags.Breach, load.Breach)
            .SetTag(TelemetryNames.Tags.First, message.First).SetTag(TelemetryNames.Tags.Last, message.Last);
        try
        {
            await SendAsync(load, breach, message, cancellationToken);
        }
        catch (StoreUnavailableException)
        {
            // The message is put off by whoever gave it, and not lost.
            await PipelineContextMessages.IgnoreUnavailableAsync(
                () => context.Database.MarkMessageSentAsync(load.Id, CancellationToken.None));
            throw;
        }
    }

    private async Task SendAsync(LoadHead load, Breach breach, MailMessage message, CancellationToken cancellationToken)
    {
        var order = NewOrder();
        var claims = await context.Database.ClaimNotificationsAsync(load.Id, message.First, message.Last, order, cancellationToken);
        if (claims.NoneBefore is { } notBefore)
        {
            // Others have the next seconds. Shortly before its time, for in the meantime somebody else may have reserved it.
            var early = order.Ahead / 2 * (1 - (Random.Shared.NextDouble() / 2));
            await SendAgainAsync(message, notBefore - early, cancellationToken);
            return;
        }
        if (claims.Claimed.FirstOrDefault(one => one.Attempts > context.Options.MaxTries + message.Deferrals) is { } worn)
        {
            await context.Database.ReleaseNotificationsAsync(load.Id, message.First, message.Last, order.Owner, cancellationToken);
            await FailAsync(load, $"notifications {message.First} to {message.Last} were begun {worn.Attempts - 1} times and ended without a word each time: did the process run out of memory? "
                + $"Mend that, then: hibp resume {load.Id}", null);
            return;
        }
        if (!await SendClaimedAsync(load, breach, message, claims, order, cancellationToken))
            return;
        if (claims.More)
            await SendAgainAsync(message, TimeSpan.Zero, cancellationToken);
        else if (claims.OthersHeld)
            await SendAgainAsync(message, context.Options.MailClaim, cancellationToken);
        await context.SendMailMessagesAsync(load.Id, cancellationToken);
        if (await context.Database.TryFinishLoadAsync(load.Id, CancellationToken.None))
        {
            LogDone(load.Id, load.Breach);
            await context.ReportLoadAsync(load.Id);
        }
    }

    private ClaimOrder NewOrder()
    {
        var (claim, perSecond) = (context.Options.MailClaim, context.Options.MailsPerSecond);
        var reserved = claim / 4 < MostReserved ? claim / 4 : MostReserved;
        var patience = claim / 8 < LongestTimeout ? claim / 8 : LongestTimeout;
        return new ClaimOrder(context.NewOwner(), claim, (int)Math.Max(1, perSecond * reserved.TotalSeconds), perSecond, patience);
    }

    private async Task SendAgainAsync(MailMessage message, TimeSpan delay, CancellationToken cancellationToken)
    {
        var hidden = TimeSpan.FromTicks(Math.Clamp(delay.Ticks, 0, PipelineContextMessages.LongestHidden.Ticks));
        await context.SendAsync(QueueNames.Mail, message, hidden, cancellationToken);
        await context.Database.MarkMessageSentAsync(message.Load, cancellationToken);
    }

    /// <summary>False: the load was held, hidden or failed meanwhile; whoever releases it has its messages sent again.</summary>
    private async Task<bool> SendClaimedAsync(
        LoadHead load, Breach breach, MailMessage message, NotificationClaims claims, ClaimOrder order, CancellationToken cancellationToken)
    {
        var claimedAt = context.Time.GetTimestamp();
        var (sent, refused, deferred) = (0, 0, 0);
        var settled = message.First - 1;
        var due = claims.StartsIn;
        try
        {
            foreach (var notification in claims.Claimed)
            {
                var waitedLong = await WaitAsync(due - context.Time.GetElapsedTime(claimedAt), cancellationToken);
                if (waitedLong && !await MaySendAsync(load.Id, cancellationToken))
                {
                    LogHeld(load.Id, load.Breach, settled);
                    return false;
                }
                // Half the claim is kept for the send in hand: nobody else may claim what is being sent.
                var began = context.Time.GetElapsedTime(claimedAt);
                if (began > context.Options.MailClaim / 2)
                    throw new StoreUnavailableException("the mail server takes too long: the rest of these notifications is sent by another message");
                // From the last one on: what was late doesn't make the next come faster.
                due = (began > due ? began : due) + TimeSpan.FromSeconds(1 / order.PerSecond);
                var outcome = await SendAsync(notification, breach, cancellationToken);
                settled = notification.Number;
                var end = outcome is { DeferredFor: { } delay, Error: { } reason }
                    ? await DeferAsync(load.Id, notification, order.Owner, delay, reason)
                    : await context.Database.CompleteNotificationAsync(notification.Id, order.Owner, outcome.Error, CancellationToken.None);
                if (!end.Recorded)
                    LogClaimLost(load.Id, notification.Number);
                _ = outcome.Error is null ? sent++ : outcome.DeferredFor is null || end.Refused ? refused++ : deferred++;
                if (!end.MayGoOn)
                {
                    LogHeld(load.Id, load.Breach, settled);
                    return false;
                }
            }
            return true;
        }
        catch (Exception e) when (e is not (StoreUnavailableException or OperationCanceledException))
        {
            // The set-up is wrong (a login refused), or a defect: another try would meet the same. The load
            // says so, and its resume sends what is left.
            await FailAsync(load, $"its mails can't be sent: {UnexpectedError.Reason(e)}", e);
            return false;
        }
        finally
        {
            LogSent(load.Id, load.Breach, message.First, message.Last, sent, refused, deferred);
            HibpTelemetry.Notified(sent, refused);
            HibpTelemetry.Span?.SetTag(TelemetryNames.Tags.Sent, sent).SetTag(TelemetryNames.Tags.Refused, refused);
            // One that was sent and could not be marked keeps its claim: whoever took it now would send it again.
            if (claims.Claimed.Count > 0 && settled < claims.Claimed[^1].Number)
                await context.Database.ReleaseNotificationsAsync(load.Id, settled + 1, message.Last, order.Owner, CancellationToken.None);
        }
    }

    private async Task FailAsync(LoadHead load, string reason, Exception? cause)
    {
        await context.FailLoadAsync(load, owner: null, reason);
        LogStopped(load.Id, load.Breach, cause is null or HibpException ? reason : UnexpectedError.Describe(cause));
    }

    /// <summary>Whether it was so long that it is to be asked again whether mails may go out.</summary>
    private async Task<bool> WaitAsync(TimeSpan pause, CancellationToken cancellationToken)
    {
        cancellationToken.ThrowIfCancellationRequested();
        if (pause > TimeSpan.Zero)
            await Task.Delay(pause, context.Time, cancellationToken);
        return pause > TimeSpan.FromSeconds(1);
    }

    private async Task<bool> MaySendAsync(long load, CancellationToken cancellationToken) =>
        await context.Database.GetLoadHeadAsync(load, cancellationToken) is { State: LoadState.Notifying, Hidden: false };

    private Task<NotificationEnd> DeferAsync(long load, Notification notification, string owner, TimeSpan delay, string reason)
    {
        LogDeferred(load, notification.Number, delay, reason);
        return context.Database.DeferNotificationAsync(notification.Id, owner, reason, delay, GiveUpAfter, CancellationToken.None);
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
            var (accounts, complete) = notification.Domain is { } domain ? await AccountsAsync(domain, breach.Marks, cancellationToken) : (null, true);
            var counted = accounts is null ? notification
                : notification with { Accounts = complete ? accounts.Count : Math.Max(notification.Accounts, accounts.Count + 1) };
            await context.Sender.SendAsync(_composer.Compose(counted, breach, accounts, complete, context.Time.GetUtcNow()), cancellationToken);
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
    private async Task<(IReadOnlyList<string> Accounts, bool Complete)> AccountsAsync(string domain, IReadOnlyList<int> marks, CancellationToken cancellationToken)
    {
        var accounts = new List<string>();
        try
        {
            await foreach (var alias in context.Table.ListAliasesAsync(domain, marks, cancellationToken))
            {
                if (accounts.Count == MailComposer.MaxAttachedAccounts)
                    return (accounts, false);
                accounts.Add($"{alias}@{domain}");
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
