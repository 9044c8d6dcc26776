using HibpIngest.Messages;
using HibpIngest.People;
using HibpIngest.Pipeline.Mail;
using HibpIngest.Pipeline.Subscribers;

namespace HibpIngest.Pipeline.People;

/// <summary>
/// Applies people's commands, and sends the mails that they cause. Idempotency key: the command's id, which the database keeps longer than
/// a command may wait. A redelivery applies nothing again, and sends the mail unless it is recorded as sent; only a crash between the two
/// causes a second copy, with the same Message-ID. The web app is not trusted: tokens are checked again, and limits count here.
/// </summary>
public sealed partial class HandleCommand(
    InstallationKeys keys, ISubscriptionRequests requests, SubscriberOperations subscribers, PersonMails mails, PersonLimits limits,
    TimeProvider time, ILogger<HandleCommand> log) : IMessageStage<CommandMessage>
{
    /// <summary>For how long a request can be verified.</summary>
    public static readonly TimeSpan RequestsLast = TimeSpan.FromDays(7);

    // As for notifications: a server that defers a recipient for longer won't accept the mail.
    private static readonly TimeSpan GiveUpAfter = TimeSpan.FromDays(3);

    /// <exception cref="NotPossibleException">A key is missing.</exception>
    public Task RunAsync(CommandMessage message, CancellationToken cancellationToken)
    {
        if (keys is not { Commands: { } commands, Links: { } links, Suppression: { } suppression })
        {
            throw new NotPossibleException("people's commands need HIBP_COMMAND_KEY, HIBP_LINK_KEYS and HIBP_SUPPRESSION_KEY on each host "
                + "that notifies: 'hibp keys generate' makes them");
        }
        var command = message.Open(commands);
        var now = time.GetUtcNow();
        if ((now - command.At).Duration() > PersonCommand.MaxAge)
        {
            LogIgnored(log, command.Kind, "its time is more than 7 days from now");
            return Task.CompletedTask;
        }
        return command.Kind switch
        {
            CommandKind.Subscribe => SubscribeAsync(command, suppression, cancellationToken),
            CommandKind.Verify => VerifyAsync(command, Read(LinkPurpose.Verify), suppression, cancellationToken),
            CommandKind.Unsubscribe => UnsubscribeAsync(command, Read(LinkPurpose.Unsubscribe), cancellationToken),
            _ => throw new UnreadableMessageException("the command is of a kind that only a newer program knows"),
        };

        Guid? Read(LinkPurpose purpose) => links.Read(command.Token, purpose, now);
    }

    private async Task SubscribeAsync(PersonCommand command, SuppressionKey key, CancellationToken cancellationToken)
    {
        if (command.Email is not { } email || !AccountRules.TryParse(email, out _, out _, out _) || !MailSyntax.IsAddress(email))
        {
            LogIgnored(log, command.Kind, "it names no address");
            return;
        }
        email = email.ToLowerInvariant();
        var isSuppressed = await subscribers.IsSuppressedAsync(email, cancellationToken);
        var (due, reached) = await requests.RequestSubscriptionAsync(
            command.Id, email, limits.Of(email, command.Network ?? "", isSuppressed, key), RequestsLast, cancellationToken);
        if (reached is { Key: PersonLimits.All })
        {
            throw new StoreUnavailableException($"{reached.Max} verification mails were sent within an hour (HIBP_VERIFYPERHOUR); this one "
                + "waits: if these are people and no attack, raise it");
        }
        if (reached is not null)
            LogIgnored(log, command.Kind, "a limit of mails is reached");
        await SendAsync(
            command, due, one => mails.SendVerificationAsync(command, one, command.At + RequestsLast, cancellationToken));
    }

    private async Task VerifyAsync(PersonCommand command, Guid? request, SuppressionKey key, CancellationToken cancellationToken)
    {
        // Found again by a redelivery, too: its request has become a subscription.
        if (request is not { } id || await requests.FindSubscriptionAsync(id, cancellationToken) is not { } known)
        {
            LogIgnored(log, command.Kind, "its link has no effect");
            return;
        }
        var hash = key.HashOf(known.Subscription.Email);
        // Only a request lifts a suppression: a verified address may have been suppressed since.
        if (!known.IsVerified)
            await subscribers.LiftAsync(hash, cancellationToken);
        await SendAsync(
            command, await requests.VerifySubscriptionAsync(command.Id, id, hash, cancellationToken),
            due => mails.SendWelcomeAsync(command, due, cancellationToken));
    }

    private async Task UnsubscribeAsync(PersonCommand command, Guid? subscription, CancellationToken cancellationToken)
    {
        if (subscription is not { } id
            || await requests.FindSubscriptionAsync(id, cancellationToken) is not { Subscription: var (email, domain) })
        {
            LogIgnored(log, command.Kind, "its link has no effect");
            return;
        }
        await subscribers.RemoveAsync(
            [email], domain is null ? [] : [domain], SuppressionReason.Unsubscribed, cancellationToken);
        LogApplied(log, command.Kind);
    }

    private async Task SendAsync(PersonCommand command, MailDue? due, Func<MailDue, Task> sendAsync)
    {
        if (due is null)
            return;
        try
        {
            await sendAsync(due);
            LogApplied(log, command.Kind);
        }
        catch (BadInputException e)
        {
            LogRefused(log, command.Kind, e.Message);
        }
        catch (RecipientDeferredException e) when (time.GetUtcNow() - command.At > GiveUpAfter)
        {
            LogRefused(log, command.Kind, e.Message);
        }
        await requests.RecordCommandMailAsync(command.Id, CancellationToken.None);
    }

    [LoggerMessage(EventIds.HandleCommandApplied, LogLevel.Information, "command {Kind}: applied")]
    private static partial void LogApplied(ILogger log, CommandKind kind);

    [LoggerMessage(EventIds.HandleCommandIgnored, LogLevel.Information, "command {Kind}: ignored, because {Reason}")]
    private static partial void LogIgnored(ILogger log, CommandKind kind, string reason);

    [LoggerMessage(EventIds.HandleCommandRefused, LogLevel.Warning, "command {Kind}: its mail was permanently refused: {Reason}")]
    private static partial void LogRefused(ILogger log, CommandKind kind, string reason);
}

/// <summary>
/// The limits of mails that anybody can cause, counted in SQL over all hosts. Each is a window that ends now, not an hour of the clock.
/// </summary>
public sealed class PersonLimits(IOptions<MailOptions> options)
{
    /// <summary>The key that counts all mails.</summary>
    public const string All = "all";

    private static readonly TimeSpan Hour = TimeSpan.FromHours(1);

    /// <summary>Returns the limits of a request, in the order in which they are checked.</summary>
    /// <param name="network">The caller's network.</param>
    /// <param name="isSuppressed">Whether the address has unsubscribed, or mails to it were refused.</param>
    /// <param name="key">Hashes what the counters are kept under.</param>
    public IReadOnlyList<MailLimit> Of(string email, string network, bool isSuppressed, SuppressionKey key)
    {
        var address = key.HashOf(email);
        return
        [
            new(address, Hour, 1), new(address, TimeSpan.FromDays(1), 3),
            .. isSuppressed ? [new MailLimit(address, TimeSpan.FromDays(30), 1)] : (MailLimit[])[],
            // No address has a space, so that these hashes are no address' suppression.
            new(key.HashOf($"network {network}"), Hour, 20),
            new(key.HashOf($"domain {email[(email.IndexOf('@') + 1)..]}"), Hour, 200),
            new(All, Hour, options.Value.VerifyPerHour),
        ];
    }
}
