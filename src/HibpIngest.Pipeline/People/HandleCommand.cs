using HibpIngest.People;

namespace HibpIngest.Pipeline.People;

/// <summary>
/// Applies people's commands, and sends the mails that they cause. Idempotency key: the command's id, which the database keeps longer than
/// a command may wait. A redelivery applies nothing again, and sends the mail unless it is recorded as sent; only a crash between the two
/// causes a second copy, with the same Message-ID. The web app is not trusted: tokens are checked again, and limits count here.
/// </summary>
public sealed partial class HandleCommand(
    InstallationKeys keys, RequestMails mails, FollowedLinks links, ProvenDomains domains, TimeProvider time, ILogger<HandleCommand> log)
    : IMessageStage<CommandMessage>
{
    /// <exception cref="NotPossibleException">A key is missing.</exception>
    public async Task RunAsync(CommandMessage message, CancellationToken cancellationToken)
    {
        if (keys is not { Commands: { } key, Links: not null, Suppression: not null })
        {
            throw new NotPossibleException("people's commands need HIBP_COMMAND_KEY, HIBP_LINK_KEYS and HIBP_SUPPRESSION_KEY on each host "
                + "that notifies: 'hibp keys generate' makes the first two, 'openssl rand -base64 32' the third");
        }
        var command = message.Open(key);
        if ((time.GetUtcNow() - command.At).Duration() > PersonCommand.MaxAge)
        {
            LogIgnored(log, command.Kind, "its time is more than 7 days from now");
            return;
        }
        var ignored = command.Kind switch
        {
            CommandKind.Subscribe or CommandKind.RequestOptOut => await mails.RequestAsync(
                command with { Domain = null, Proof = null, Key = null }, cancellationToken),
            CommandKind.Verify => await links.VerifyAsync(command, cancellationToken),
            CommandKind.Unsubscribe => await links.UnsubscribeAsync(command, cancellationToken),
            CommandKind.OptOut => await links.OptOutAsync(command, cancellationToken),
            CommandKind.VerifyDomain => await domains.VerifyAsync(command, cancellationToken),
            CommandKind.RequestDomain => await domains.FindRefusalAsync(command, cancellationToken)
                ?? await mails.RequestAsync(command, cancellationToken),
            CommandKind.ConfirmDomain => await links.VerifyAsync(command, cancellationToken),
            CommandKind.SignIn => await mails.SignInAsync(command, cancellationToken),
            _ => throw new UnreadableMessageException("the command is of a kind that only a newer program knows"),
        };
        if (ignored is null)
            LogApplied(log, command.Kind);
        else
            LogIgnored(log, command.Kind, ignored);
    }

    [LoggerMessage(EventIds.HandleCommandApplied, LogLevel.Information, "command {Kind}: applied")]
    private static partial void LogApplied(ILogger log, CommandKind kind);

    [LoggerMessage(EventIds.HandleCommandIgnored, LogLevel.Information, "command {Kind}: ignored, because {Reason}")]
    private static partial void LogIgnored(ILogger log, CommandKind kind, string reason);
}
