using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Notifications;
using HibpIngest.Ports;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

/// <summary>
/// Sends a range of a load's notifications. Its key is the notification: each is claimed before it is sent and marked after, so a second delivery sends none that was marked;
/// only a crash between the send and the mark makes a second copy, with the same Message-ID.
/// </summary>
public sealed partial class SendNotifications(PipelineContext context)
{
    private readonly ILogger _log = context.Logs.CreateLogger<SendNotifications>();
    private readonly MailComposer _composer = new(context.Options.MailFrom);

    public async Task RunAsync(MailMessage message, CancellationToken cancellationToken)
    {
        if (await context.Database.GetLoadAsync(message.Load, cancellationToken) is not { State: LoadState.Notifying } load
            || await context.Database.GetBreachAsync(load.Breach, cancellationToken) is not { } breach)
        {
            return;
        }
        var span = HibpTelemetry.Span?.SetTag(TelemetryNames.Tags.Breach, load.Breach).SetTag(TelemetryNames.Tags.First, message.First).SetTag(TelemetryNames.Tags.Last, message.Last);
        var owner = context.NewOwner();
        var (claimed, othersHeld) = await context.Database.ClaimNotificationsAsync(
            load.Id, message.First, message.Last, owner, context.Options.MailClaim, cancellationToken);
        var claimedAt = context.Time.GetTimestamp();
        var (sent, refused) = (0, 0);
        var settled = message.First - 1;
        try
        {
            foreach (var notification in claimed)
            {
                cancellationToken.ThrowIfCancellationRequested();
                // Half the claim is kept for the send in hand: nobody else may claim what is being sent.
                if (context.Time.GetElapsedTime(claimedAt) > context.Options.MailClaim / 2)
                    throw new StoreUnavailableException("the mail server takes too long: the rest of these notifications is sent by another message");
                var error = await SendAsync(notification, breach, cancellationToken);
                settled = notification.Number;
                if (!await context.Database.CompleteNotificationAsync(notification.Id, owner, error, CancellationToken.None))
                    LogClaimLost(load.Id, notification.Number);
                _ = error is null ? sent++ : refused++;
            }
        }
        catch (Exception e) when (e is not (StoreUnavailableException or OperationCanceledException))
        {
            // The set-up is wrong (a login refused), or a defect: another try would meet the same. The load says so, and its resume sends what is left.
            var reason = UnexpectedError.Reason(e);
            if (await context.Database.GetLoadHeadAsync(load.Id, CancellationToken.None) is { } head)
                await context.FailLoadAsync(head, owner: null, $"its mails can't be sent: {reason}");
            LogStopped(load.Id, load.Breach, e is HibpException ? reason : UnexpectedError.Describe(e));
            return;
        }
        finally
        {
            LogSent(load.Id, load.Breach, message.First, message.Last, sent, refused);
            HibpTelemetry.Notified(sent, refused);
            span?.SetTag(TelemetryNames.Tags.Sent, sent).SetTag(TelemetryNames.Tags.Refused, refused);
            // One that was sent and could not be marked keeps its claim: whoever took it now would send it again.
            if (sent + refused < claimed.Count)
                await context.Database.ReleaseNotificationsAsync(load.Id, settled + 1, message.Last, owner, CancellationToken.None);
        }
        if (othersHeld)
            await context.SendAsync(QueueNames.Mail, message, context.Options.MailClaim, cancellationToken);
        if (await context.Database.TryFinishLoadAsync(load.Id, CancellationToken.None))
        {
            LogDone(load.Id, load.Breach);
            await context.TellLoadAsync(load.Id);
        }
    }

    /// <summary>Null when sent, else why it was refused for good.</summary>
    private async Task<string?> SendAsync(Notification notification, Breach breach, CancellationToken cancellationToken)
    {
        if (breach.Metadata.Flags.HasFlag(BreachFlags.Retired))
            return "the breach was retired before this was sent";
        try
        {
            var (accounts, complete) = notification.Domain is { } domain ? await AccountsAsync(domain, breach.Marks, cancellationToken) : (null, true);
            var counted = accounts is null ? notification
                : notification with { Accounts = complete ? accounts.Count : Math.Max(notification.Accounts, accounts.Count + 1) };
            await context.Sender.SendAsync(_composer.Compose(counted, breach, accounts, complete, context.Time.GetUtcNow()), cancellationToken);
            return null;
        }
        catch (BadInputException e)
        {
            return e.Message;
        }
    }

    /// <summary>The domain's accounts in the breach, all its loads together, from the table: SQL's rows have no index for it and may have been purged.</summary>
    private async Task<(IReadOnlyList<string> Accounts, bool Complete)> AccountsAsync(string domain, IReadOnlyList<int> marks, CancellationToken cancellationToken)
    {
        var accounts = new List<string>();
        await foreach (var alias in context.Table.ListAliasesAsync(domain, marks, cancellationToken))
        {
            if (accounts.Count == MailComposer.MaxAttachedAccounts)
                return (accounts, false);
            accounts.Add($"{alias}@{domain}");
        }
        return (accounts, true);
    }
}
