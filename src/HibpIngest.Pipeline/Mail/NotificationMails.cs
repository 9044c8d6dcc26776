using HibpIngest.Pipeline.Subscribers;

namespace HibpIngest.Pipeline.Mail;

/// <summary>Composes the mail of one notification and sends it.</summary>
public sealed class NotificationMails(
    IReadLayout layout, IStoreTables tables, INotificationSender sender, Lazy<MailComposer> composer, SubscriberOperations subscribers,
    TimeProvider time)
{
    // As RFC 5321 (4.5.4.1) asks of mail servers, except that the first pauses are shorter.
    private static readonly TimeSpan FirstDeferral = TimeSpan.FromMinutes(5);
    private static readonly TimeSpan MaxDeferral = TimeSpan.FromHours(4);

    /// <summary>Reads the templates, whose errors are the operator's and not a recipient's.</summary>
    public void Prepare() => _ = composer.Value;

    public async Task<MailOutcome> SendAsync(Notification notification, Breach breach, CancellationToken cancellationToken)
    {
        if (breach.Metadata.Flags.HasFlag(BreachFlags.Retired))
            return new MailOutcome(new MailRefusal("the breach was retired before this was sent"));
        try
        {
            var (accounts, complete) = notification.Domain is { } domain
                ? await AccountsAsync(domain, breach.Marks, cancellationToken) : (null, true);
            if (accounts is { Count: 0 } && complete)
                return new MailOutcome(new MailRefusal("every account of the domain is hidden from all, or was removed"));
            var counted = accounts is null ? notification
                : notification with { Accounts = complete ? accounts.Count : Math.Max(notification.Accounts, accounts.Count + 1) };
            await sender.SendAsync(composer.Value.Compose(counted, breach, accounts, complete, time.GetUtcNow()), cancellationToken);
            return new MailOutcome(null);
        }
        catch (BadInputException e)
        {
            return new MailOutcome(new MailRefusal(e.Message, e is RecipientUnknownException));
        }
        catch (RecipientDeferredException e)
        {
            return new MailOutcome(new MailRefusal(e.Message), Deferral(notification.Deferrals));
        }
    }

    /// <summary>Suppresses an address that doesn't exist: a sender who keeps writing to such addresses is taken for a spammer.</summary>
    /// <returns>False if there is no key for it; 'hibp mail refused' lists the address.</returns>
    public Task<bool> SuppressAsync(Notification notification) =>
        subscribers.TrySuppressAsync(notification.Email, SuppressionReason.Bounced, CancellationToken.None);

    /// <summary>Lists the domain's accounts from the table: SQL's rows have no index for that and may have been purged.</summary>
    /// <exception cref="RecipientDeferredException">The table throttles or is unavailable; other notifications are not delayed.</exception>
    private async Task<(IReadOnlyList<string> Accounts, bool Complete)> AccountsAsync(
        string domain, IReadOnlyList<int> marks, CancellationToken cancellationToken)
    {
        var accounts = new List<string>();
        try
        {
            // The layout that is read has every account; another one may still be backfilled.
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
        catch (UnavailableException e)
        {
            throw new RecipientDeferredException($"the domain's accounts can't be listed now: {e.Message}");
        }
        return (accounts, true);
    }

    internal static TimeSpan Deferral(int deferrals)
    {
        var pause = FirstDeferral * Math.Pow(2, Math.Clamp(deferrals, 0, 10));
        var spread = (pause < MaxDeferral ? pause : MaxDeferral) * (1 - (Random.Shared.NextDouble() / 4));
        return spread > FirstDeferral ? spread : FirstDeferral;
    }
}

/// <summary>The outcome of a mail: sent (no refusal), permanently refused, or deferred.</summary>
public readonly record struct MailOutcome(MailRefusal? Refusal, TimeSpan? DeferredFor = null);
