using HibpIngest.People;
using HibpIngest.Pipeline.Mail;

namespace HibpIngest.Pipeline.People;

/// <summary>Sends the mails that people's commands cause.</summary>
public sealed class PersonMails(
    ICatalogue catalogue, IReadLayout layout, IStoreTables tables, IApiKeys apiKeys, INotificationSender sender,
    Lazy<MailComposer> composer, MailLinks links)
{
    /// <summary>Sends the link by which the owner of an address confirms what was requested.</summary>
    /// <param name="expires">When the link expires.</param>
    /// <exception cref="BadInputException">Permanently refused.</exception>
    /// <exception cref="UnavailableException">The mail can't be sent now.</exception>
    public async Task SendConfirmationAsync(
        PersonCommand command, MailDue due, DateTimeOffset expires, CancellationToken cancellationToken) =>
        await SendAsync(command.Id, due, command.At, command.Kind switch
        {
            CommandKind.RequestOptOut => PersonMail.HideAddress(
                due.Email, command.Level, links.OptOut(due.Subscription, command.Level, expires)),
            CommandKind.RequestDomain when command.Key is { } key => PersonMail.ConfirmKey(
                (await apiKeys.FindAsync(key, cancellationToken))?.Name ?? throw new BadInputException("its API key was revoked"),
                command.Domain!, links.Domain(due.Subscription, expires)),
            CommandKind.RequestDomain => PersonMail.ConfirmDomain(
                due.Email, command.Domain!, isProven: command.Proof!.Value.Mailbox(command.Domain!) is null,
                links.Domain(due.Subscription, expires)),
            _ => PersonMail.Verify(due.Email, links.Verify(due.Subscription, expires)),
        }, cancellationToken);

    /// <summary>Sends the link by which the owner of a domain signs in.</summary>
    /// <exception cref="BadInputException">Permanently refused.</exception>
    /// <exception cref="UnavailableException">The mail can't be sent now.</exception>
    public Task SendSignInAsync(PersonCommand command, MailDue due, string secret, CancellationToken cancellationToken) => SendAsync(
        command.Id, due, command.At, PersonMail.SignIn(command.Domain!, links.SignIn(secret)), cancellationToken);

    /// <summary>Says that a domain's proof is missing, or has ended.</summary>
    /// <param name="id">The same for the same message.</param>
    /// <param name="retryAfterDays">When a missing proof is checked again; null if it has ended.</param>
    /// <exception cref="BadInputException">Permanently refused.</exception>
    /// <exception cref="UnavailableException">The mail can't be sent now.</exception>
    public Task SendProofNoticeAsync(
        Guid id, MailDue due, DateTimeOffset at, DomainProof proof, int? retryAfterDays, CancellationToken cancellationToken) => SendAsync(
        id, due, at, retryAfterDays is { } days ? PersonMail.ProofFailed(proof, days, links.Domains)
            : PersonMail.ProofLapsed(proof, links.Domains), cancellationToken);

    /// <summary>Confirms a subscription, and lists the breaches that the address is in, including sensitive ones: it is verified.</summary>
    /// <param name="domain">The domain that is subscribed to; if null, the address itself.</param>
    /// <exception cref="BadInputException">Permanently refused.</exception>
    /// <exception cref="UnavailableException">The mail can't be sent now.</exception>
    public async Task SendWelcomeAsync(PersonCommand command, MailDue due, string? domain, CancellationToken cancellationToken) =>
        await (domain is null
            ? sender.SendAsync(
                composer.Value.ComposeWelcome(command.Id, due, await FindBreachesAsync(due.Email, cancellationToken), command.At),
                cancellationToken)
            : SendAsync(command.Id, due, command.At, PersonMail.DomainConfirmed(domain, links.Domains), cancellationToken));

    private Task SendAsync(Guid id, MailDue due, DateTimeOffset date, PersonMail content, CancellationToken cancellationToken) =>
        sender.SendAsync(composer.Value.Compose(id, due, content, date), cancellationToken);

    // Breaches come from the database and the read layout, as the catalogue's readers would find them, but with sensitive ones.
    private async Task<IReadOnlyList<Breach>> FindBreachesAsync(string email, CancellationToken cancellationToken)
    {
        if (!AccountRules.TryParse(email, out var account, out _))
            return [];
        var breaches = (await catalogue.ListBreachesAsync(cancellationToken)).Where(
            breach => breach.IsListed && !breach.Metadata.Flags.HasFlag(BreachFlags.Retired)).ToList();
        if (breaches.Count == 0)
            return [];
        var facts = (await layout.GetReadLayoutAsync(cancellationToken) ?? StoreLayout.First).Facts;
        var marks = await tables.GetMarksAsync(
            facts, new LayoutPlacement(facts), account, breaches.Max(breach => breach.Marks[^1]), cancellationToken);
        if (OptOut.Hides(marks, fromOwner: true))
            return [];
        return [.. breaches.Where(breach => breach.Marks.Any(marks.Contains))
            .OrderByDescending(breach => breach.Metadata.BreachDate).ThenBy(breach => breach.Name, StringComparer.OrdinalIgnoreCase)];
    }
}
