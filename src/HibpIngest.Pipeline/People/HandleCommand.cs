using HibpIngest.Messages;
using HibpIngest.People;
using HibpIngest.Pipeline.Subscribers;

namespace HibpIngest.Pipeline.People;

/// <summary>
/// Applies people's commands, and sends the mails that they cause. Idempotency key: the command's id, which the database keeps longer than
/// a command may wait. A redelivery applies nothing again, and sends the mail unless it is recorded as sent; only a crash between the two
/// causes a second copy, with the same Message-ID. The web app is not trusted: tokens are checked again, and limits count here.
/// </summary>
public sealed partial class HandleCommand(
    InstallationKeys keys, ISubscriptionRequests requests, RequestMails mails, SubscriberOperations subscribers, OptOutOperations optOuts,
    TimeProvider time, ILogger<HandleCommand> log) : IMessageStage<CommandMessage>
{
    /// <exception cref="NotPossibleException">A key is missing.</exception>
    public async Task RunAsync(CommandMessage message, CancellationToken cancellationToken)
    {
        if (keys is not { Commands: { } key, Links: not null, Suppression: not null })
        {
            throw new NotPossibleException("people's commands need HIBP_COMMAND_KEY, HIBP_LINK_KEYS and HIBP_SUPPRESSION_KEY on each host "
                + "that notifies: 'hibp keys generate' makes them");
        }
        var command = message.Open(key);
        if ((time.GetUtcNow() - command.At).Duration() > PersonCommand.MaxAge)
        {
            LogIgnored(log, command.Kind, "its time is more than 7 days from now");
            return;
        }
        var ignored = command.Kind switch
        {
            CommandKind.Subscribe or CommandKind.RequestOptOut => await mails.RequestAsync(command, cancellationToken),
            CommandKind.Verify => await VerifyAsync(command, cancellationToken),
            CommandKind.Unsubscribe => await UnsubscribeAsync(command, cancellationToken),
            CommandKind.OptOut => await OptOutAsync(command, cancellationToken),
            _ => throw new UnreadableMessageException("the command is of a kind that only a newer program knows"),
        };
        if (ignored is null)
            LogApplied(log, command.Kind);
        else
            LogIgnored(log, command.Kind, ignored);
    }

    // Each returns why the command is ignored, or null.
    private async Task<string?> VerifyAsync(PersonCommand command, CancellationToken cancellationToken)
    {
        // Found again by a redelivery, too: its request has become a subscription.
        if (await FindAsync(command, LinkPurpose.Verify, cancellationToken) is not var (id, known))
            return NoEffect;
        var hash = keys.Suppression!.HashOf(known.Subscription.Email);
        // Only a request lifts a suppression: a verified address may have been suppressed since.
        if (!known.IsVerified)
        {
            await subscribers.LiftAsync(hash, cancellationToken);
            if (AccountRules.TryParse(known.Subscription.Email, out var alias, out var domain, out _))
                await optOuts.ShowToOwnerAsync(alias, domain, cancellationToken);
        }
        if (await requests.VerifySubscriptionAsync(command.Id, id, hash, cancellationToken) is { } due)
            await mails.WelcomeAsync(command, due, cancellationToken);
        return null;
    }

    private async Task<string?> UnsubscribeAsync(PersonCommand command, CancellationToken cancellationToken)
    {
        if (await FindAsync(command, LinkPurpose.Unsubscribe, cancellationToken) is not var (_, (subscription, _)))
            return NoEffect;
        await subscribers.RemoveAsync(
            [subscription.Email], subscription.Domain is { } domain ? [domain] : [], SuppressionReason.Unsubscribed, cancellationToken);
        return null;
    }

    private async Task<string?> OptOutAsync(PersonCommand command, CancellationToken cancellationToken)
    {
        var purpose = command.Level == OptOutLevel.All ? LinkPurpose.OptOutAll : LinkPurpose.OptOutPublic;
        if (await FindAsync(command, purpose, cancellationToken) is not var (_, (subscription, _))
            || !AccountRules.TryParse(subscription.Email, out var alias, out var domain, out _))
        {
            return NoEffect;
        }
        await optOuts.SetAsync(
            new OptOut(alias, domain, purpose == LinkPurpose.OptOutAll ? OptOutLevel.All : OptOutLevel.Public), cancellationToken);
        return null;
    }

    private const string NoEffect = "its link has no effect";

    /// <returns>Null: the token is not valid, or its request has expired.</returns>
    private async Task<(Guid Id, KnownSubscription Known)?> FindAsync(
        PersonCommand command, LinkPurpose purpose, CancellationToken cancellationToken) =>
        keys.Links!.Read(command.Token, purpose, time.GetUtcNow()) is { } id
        && await requests.FindSubscriptionAsync(id, cancellationToken) is { } known ? (id, known) : null;

    [LoggerMessage(EventIds.HandleCommandApplied, LogLevel.Information, "command {Kind}: applied")]
    private static partial void LogApplied(ILogger log, CommandKind kind);

    [LoggerMessage(EventIds.HandleCommandIgnored, LogLevel.Information, "command {Kind}: ignored, because {Reason}")]
    private static partial void LogIgnored(ILogger log, CommandKind kind, string reason);
}
