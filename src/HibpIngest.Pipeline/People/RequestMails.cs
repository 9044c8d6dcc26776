using HibpIngest.People;
using HibpIngest.Pipeline.Mail;
using HibpIngest.Pipeline.Subscribers;

namespace HibpIngest.Pipeline.People;

/// <summary>The mails that people's commands cause: within the limits, and once for each command.</summary>
public sealed partial class RequestMails(
    ISubscriptionRequests requests, SubscriberOperations subscribers, IOptOuts optOuts, PersonLimits limits, PersonMails mails,
    TimeProvider time, ILogger<RequestMails> log)
{
    /// <summary>For how long a request can be confirmed.</summary>
    public static readonly TimeSpan RequestsLast = TimeSpan.FromDays(7);

    // As for notifications: a server that defers a recipient for longer won't accept the mail.
    private static readonly TimeSpan GiveUpAfter = TimeSpan.FromDays(3);

    /// <summary>Records a request, and mails the link by which the owner of the address confirms it.</summary>
    /// <returns>Why it is ignored, or null.</returns>
    /// <exception cref="StoreUnavailableException">All mails of the hour are sent, or this one can't be sent now.</exception>
    public async Task<string?> RequestAsync(PersonCommand command, CancellationToken cancellationToken)
    {
        if (command.Email?.ToLowerInvariant() is not { } email || !AccountRules.TryParse(email, out var alias, out var domain, out _)
            || !MailSyntax.IsAddress(email))
        {
            return "it names no address";
        }
        if (await optOuts.GetOptOutAsync(alias, domain, cancellationToken) == OptOutLevel.All)
            return "the address is hidden from all, and gets no mail";
        var isSuppressed = await subscribers.IsSuppressedAsync(email, cancellationToken);
        var (due, reached) = await requests.RequestSubscriptionAsync(
            command.Id, email, limits.Of(email, command.Network ?? "", isSuppressed), RequestsLast, cancellationToken);
        if (reached is { Key: PersonLimits.All })
        {
            throw new StoreUnavailableException($"{reached.Max} verification mails were sent within an hour (HIBP_VERIFYPERHOUR); this one "
                + "waits: if these are people and no attack, raise it");
        }
        if (reached is not null)
            return "a limit of mails is reached";
        if (due is not null)
            await SendAsync(command, () => mails.SendConfirmationAsync(command, due, command.At + RequestsLast, cancellationToken));
        return null;
    }

    /// <summary>Mails the confirmation of a subscription.</summary>
    /// <exception cref="StoreUnavailableException">It can't be sent now.</exception>
    public Task WelcomeAsync(PersonCommand command, MailDue due, CancellationToken cancellationToken) =>
        SendAsync(command, () => mails.SendWelcomeAsync(command, due, cancellationToken));

    private async Task SendAsync(PersonCommand command, Func<Task> sendAsync)
    {
        try
        {
            await sendAsync();
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

    [LoggerMessage(EventIds.HandleCommandRefused, LogLevel.Warning, "command {Kind}: its mail was permanently refused: {Reason}")]
    private static partial void LogRefused(ILogger log, CommandKind kind, string reason);
}
