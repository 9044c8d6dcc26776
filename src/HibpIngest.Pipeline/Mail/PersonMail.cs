namespace HibpIngest.Pipeline.Mail;

/// <summary>Text of a short mail: a heading, paragraphs, and at most one link.</summary>
/// <param name="Before">Paragraphs before the link.</param>
/// <param name="Why">Why the person gets the mail.</param>
/// <param name="After">Paragraphs after the link.</param>
public sealed record PersonMail(
    string Subject, string Heading, IReadOnlyList<string> Before, string Why, string? Link = null, string? Button = null,
    IReadOnlyList<string>? After = null)
{
    private const string AWeek = "The link opens a page with a button, and is valid for 7 days.";
    private const string Ignore =
        "If it was not you, ignore this mail: without your confirmation nothing changes, and the request is deleted.";
    private const string Disagree =
        "If you do not agree, ignore this mail: without your confirmation nothing changes, and the request is deleted.";

    /// <summary>The link by which a person verifies an address.</summary>
    public static PersonMail Verify(string email, string link) => new(
        "Confirm your address for breach notifications", "Confirm your address",
        [$"Somebody asked for breach notifications for the address {email}. If it was you, confirm it:"], Typed(email), link,
        "Confirm my address",
        [$"{AWeek} After that you get a mail that lists the breaches that this address is in.", Ignore]);

    /// <summary>The link by which a person has an address hidden.</summary>
    public static PersonMail HideAddress(string email, OptOutLevel level, string link) => new(
        "Confirm that you want your address hidden", "Hide your address",
        [$"Somebody asked to hide the address {email} in the breaches that are loaded here. If it was you, confirm it:"], Typed(email),
        link, "Hide my address",
        [
            AWeek,
            level == OptOutLevel.All
                ? "Nobody can look up the address then, not even you or the owner of its domain, and it gets no more mails."
                : "Nobody can look up the address then. You can still be notified, and the owner of its domain still sees it.",
            Ignore,
        ]);

    /// <summary>The link by which the owner of a domain lets an address be notified of it, and see its accounts.</summary>
    /// <param name="isProven">True: the domain is proven already; false: the mail proves it.</param>
    public static PersonMail ConfirmDomain(string email, string domain, bool isProven, string link) => new(
        $"Confirm the domain {domain} for breach notifications", $"Confirm {domain}",
        [
            isProven
                ? $"The domain {domain} is proven. It remains to confirm that the address {email} is to be notified of the breaches that "
                    + "addresses of the domain are in:"
                : $"Somebody asked to be notified here, at {email}, of the breaches that addresses of {domain} are in, and to see "
                    + "these addresses. If you run this domain and agree, confirm it:",
        ],
        isProven ? Typed(email) : Asked(domain), link, "Confirm the domain", [AWeek, isProven ? Ignore : Disagree]);

    /// <summary>The link by which the owner of a domain lets the owner of an API key see its accounts.</summary>
    /// <param name="name">Name of the API key.</param>
    public static PersonMail ConfirmKey(string name, string domain, string link) => new(
        $"Let the API key {name} see the addresses of {domain}?", $"Let an API key see {domain}",
        [
            $"The owner of the API key \"{name}\" of this service asked to see all addresses of {domain} that are in breaches. If you run "
                + "this domain, know whose key that is, and agree, confirm it:",
        ],
        Asked(domain), link, "Let this key see the addresses", [AWeek, Disagree]);

    /// <summary>Says that an address is notified of a domain's breaches.</summary>
    /// <param name="page">Address of the page that shows the domain's accounts.</param>
    public static PersonMail DomainConfirmed(string domain, string page) => new(
        $"You are notified of breaches with addresses of {domain}", $"{domain} is confirmed",
        ["You get a mail for each breach that addresses of the domain are in. To see all addresses that are known now, sign in:"],
        Notified(domain), page, "Sign in",
        ["Enter the domain and this address there, and you get a link by mail. Keep the TXT record or file that proves the domain: it is "
            + "checked every 90 days. A proof by mail is valid for a year."]);

    /// <summary>The link by which a domain's owner signs in.</summary>
    public static PersonMail SignIn(string domain, string link) => new(
        $"Your link to the addresses of {domain}", "Sign in",
        [$"Somebody, probably you, asked for the addresses of {domain} that are in breaches. This link shows them:"], Notified(domain),
        link, "Show the addresses",
        ["The link is valid for 15 minutes, and works once. If you did not ask for it, ignore this mail: nobody else has the link."]);

    /// <summary>Says that a check of a proof failed, and that a second one ends it.</summary>
    public static PersonMail ProofFailed(DomainProof proof, int days, string page) => new(
        $"The proof of {proof.Domain} is missing", "The proof of your domain is missing",
        [
            $"{What(proof)} that proves the domain {proof.Domain} was not found. It is checked again in {days} days. If it is missing "
                + "then, the domain's breaches are no longer sent and shown to you.",
            "To keep the domain, publish the proof again: it has not changed. To see it, enter the domain and this address here:",
        ],
        Notified(proof.Domain), page, "See the proof");

    /// <summary>Says that a proof has ended.</summary>
    public static PersonMail ProofLapsed(DomainProof proof, string page) => new(
        $"The proof of {proof.Domain} has ended", "The proof of your domain has ended",
        [
            (proof.Mailbox is null ? $"{What(proof)} that proves the domain {proof.Domain} was not found twice, a week apart."
                : $"The domain {proof.Domain} was proven by a mail to {proof.Mailbox}, and such a proof is valid for a year.")
                + " So its breaches are no longer sent and shown.",
            "To get them again, prove the domain again:",
        ],
        proof.Subscription is null ? "The owner of an API key had the domain by a mail to this address." : Notified(proof.Domain), page,
        "Prove the domain");

    private static string Asked(string domain) =>
        $"Somebody named {domain} to us, and this is one of the mailboxes that we ask for its owner's consent.";

    private static string Typed(string email) => $"The address {email} was typed on our page.";

    private static string Notified(string domain) => $"Breaches with addresses of {domain} are reported to this address.";

    private static string What(DomainProof proof) => proof.Kind == ProofKind.File ? "The file" : "The TXT record";

    // ToString must not show an address.
    private bool PrintMembers(StringBuilder builder)
    {
        builder.Append(Heading);
        return true;
    }
}
