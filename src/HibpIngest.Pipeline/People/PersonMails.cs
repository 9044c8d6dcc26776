using HibpIngest.People;
using HibpIngest.Pipeline.Mail;

namespace HibpIngest.Pipeline.People;

/// <summary>Sends the mails that people's commands cause.</summary>
public sealed class PersonMails(
    ICatalogue catalogue, IReadLayout layout, IStoreTables tables, INotificationSender sender, Lazy<MailComposer> composer,
    MailLinks links)
{
    /// <summary>Sends the link by which the owner of an address confirms a subscription or an opt-out.</summary>
    /// <param name="expires">When the link expires.</param>
    /// <exception cref="BadInputException">Permanently refused.</exception>
    /// <exception cref="StoreUnavailableException">The mail can't be sent now.</exception>
    public Task SendConfirmationAsync(PersonCommand command, MailDue due, DateTimeOffset expires, CancellationToken cancellationToken) =>
        sender.SendAsync(
            command.Kind == CommandKind.RequestOptOut
                ? composer.Value.ComposeOptOut(
                    command.Id, due, links.OptOut(due.Subscription, command.Level, expires), command.Level, command.At)
                : composer.Value.ComposeVerification(command.Id, due, links.Verify(due.Subscription, expires), command.At),
            cancellationToken);

    /// <summary>Confirms a subscription, and lists the breaches that the address is in, including sensitive ones: it is verified.</summary>
    /// <exception cref="BadInputException">Permanently refused.</exception>
    /// <exception cref="StoreUnavailableException">The mail can't be sent now.</exception>
    public async Task SendWelcomeAsync(PersonCommand command, MailDue due, CancellationToken cancellationToken) => await sender.SendAsync(
        composer.Value.ComposeWelcome(command.Id, due, await FindBreachesAsync(due.Email, cancellationToken), command.At),
        cancellationToken);

    // From the database and the layout that is read, as the catalogue's readers would find them, but with sensitive ones.
    private async Task<IReadOnlyList<Breach>> FindBreachesAsync(string email, CancellationToken cancellationToken)
    {
        if (!AccountRules.TryParse(email, out var alias, out var domain, out _))
            return [];
        var breaches = (await catalogue.ListBreachesAsync(cancellationToken)).Where(
            breach => breach.IsListed && !breach.Metadata.Flags.HasFlag(BreachFlags.Retired)).ToList();
        if (breaches.Count == 0)
            return [];
        var facts = (await layout.GetReadLayoutAsync(cancellationToken) ?? StoreLayout.First).Facts;
        var marks = await tables.GetMarksAsync(
            facts, new LayoutPlacement(facts), alias, domain, breaches.Max(breach => breach.Marks[^1]), cancellationToken);
        if (OptOut.Hides(marks, fromOwner: true))
            return [];
        return [.. breaches.Where(breach => breach.Marks.Any(marks.Contains))
            .OrderByDescending(breach => breach.Metadata.BreachDate).ThenBy(breach => breach.Name, StringComparer.OrdinalIgnoreCase)];
    }
}
