using HibpIngest.People;

namespace HibpIngest.Pipeline.People;

/// <summary>The mails that people's commands cause: within the limits, and once for each command.</summary>
public sealed partial class RequestMails(
    ISubscriptionRequests requests, ISignIns signIns, PersonLimits limits, PersonMails mails, TimeProvider time, ILogger<RequestMails> log)
{
    /// <summary>Time for which a request can be confirmed.</summary>
    public static readonly TimeSpan RequestsLast = TimeSpan.FromDays(7);

    // The same limit as for notifications: a server that defers a recipient for longer won't accept the mail.
    private static readonly TimeSpan GiveUpAfter = TimeSpan.FromDays(3);

    /// <summary>Records a request, and mails the link by which the owner of the address confirms it.</summary>
    /// <returns>Reason why it is ignored; null if it isn't.</returns>
    /// <exception cref="UnavailableException">All mails of the hour are sent, or this one can't be sent now.</exception>
    public async Task<string?> RequestAsync(PersonCommand command, CancellationToken cancellationToken)
    {
        var email = (command.Proof?.Mailbox(command.Domain!) ?? command.Email)?.ToLowerInvariant();
        if (await limits.FindRefusalAsync(email, cancellationToken) is { } reason)
            return reason;
        var outcome = await requests.RequestSubscriptionAsync(
            command.Id, new SubscriptionRequest(email!, command.Domain, command.Proof, command.Key),
            await limits.OfAsync(email!, command, cancellationToken), RequestsLast, cancellationToken);
        return await SendAsync(command, outcome, due => mails.SendConfirmationAsync(
            command, due, command.At + RequestsLast, cancellationToken));
    }

    /// <summary>Mails the link by which the subscriber of a domain signs in.</summary>
    /// <returns>Reason why it is ignored; null if it isn't.</returns>
    /// <exception cref="UnavailableException">All mails of the hour are sent, or this one can't be sent now.</exception>
    public async Task<string?> SignInAsync(PersonCommand command, CancellationToken cancellationToken)
    {
        var email = command.Email?.ToLowerInvariant();
        if (await limits.FindRefusalAsync(email, cancellationToken) is { } reason)
            return reason;
        if (command.Domain is null || !AccountRules.TryParseDomain(command.Domain, out var domain, out _))
            return "it names no domain";
        var outcome = await requests.RequestSignInAsync(
            command.Id, email!, domain, limits.OfSignIn(email!, command.Network), cancellationToken);
        if (outcome is { Due: null, Reached: null })
            return "the address is not subscribed to the domain, or the mail was sent already";
        return await SendAsync(command, outcome, async due =>
        {
            var (secret, row) = SignIn.Create(domain, time.GetUtcNow());
            await signIns.AddAsync(row, cancellationToken);
            await mails.SendSignInAsync(command with { Domain = domain }, due, secret, cancellationToken);
        });
    }

    private async Task<string?> SendAsync(PersonCommand command, RequestOutcome outcome, Func<MailDue, Task> sendAsync)
    {
        var (due, reached) = outcome;
        if (reached is { Key: PersonLimits.All })
        {
            throw new UnavailableException($"{reached.Max} verification mails were sent within an hour (HIBP_VERIFYPERHOUR); this one "
                + "waits. If the requests are genuine, raise the setting");
        }
        if (reached is not null)
            return "a limit of mails is reached";
        if (due is not null)
            await SendAsync(command, () => sendAsync(due));
        return null;
    }

    /// <summary>Mails the confirmation of a subscription.</summary>
    /// <param name="domain">The domain that is subscribed to; null for the address itself.</param>
    /// <exception cref="UnavailableException">It can't be sent now.</exception>
    public Task WelcomeAsync(PersonCommand command, MailDue due, string? domain, CancellationToken cancellationToken) =>
        SendAsync(command, () => mails.SendWelcomeAsync(command, due, domain, cancellationToken));

    private async Task SendAsync(PersonCommand command, Func<Task> sendAsync)
    {
        try
        {
            await sendAsync();
        }
        catch (BadInputException e)
        {
            LogRefused(log, command.Id, command.Kind, e.Message);
        }
        catch (RecipientDeferredException e) when (time.GetUtcNow() - command.At > GiveUpAfter)
        {
            LogRefused(log, command.Id, command.Kind, e.Message);
        }
        await requests.RecordCommandMailAsync(command.Id, CancellationToken.None);
    }

    [LoggerMessage(EventIds.HandleCommandRefused, LogLevel.Warning, "command {Id} ({Kind}): mail not sent, giving up ({Reason})")]
    private static partial void LogRefused(ILogger log, Guid id, CommandKind kind, string reason);
}
