namespace HibpIngest.Stores;

/// <summary>
/// Subscriptions that people request, until they verify them, with the limits of the mails that this causes; and the domains that their
/// owners have proven, with the time of each check.
/// </summary>
public interface ISubscriptionRequests
{
    /// <summary>
    /// Records a request and the mail that it causes, unless a limit is reached. The same request is kept once: another one extends it.
    /// Deletes expired requests and counts.
    /// </summary>
    /// <param name="command">Id of the command; a repeated one is not counted again.</param>
    /// <param name="limits">Limits, in the order in which they are checked.</param>
    Task<RequestOutcome> RequestSubscriptionAsync(
        Guid command, SubscriptionRequest wanted, IReadOnlyList<MailLimit> limits, TimeSpan validFor, CancellationToken cancellationToken);

    /// <summary>Records the mail by which the subscriber of a domain signs in, unless there is none or a limit is reached.</summary>
    /// <param name="command">Id of the command; a repeated one is not counted again.</param>
    /// <param name="limits">Limits, in the order in which they are checked.</param>
    Task<RequestOutcome> RequestSignInAsync(
        Guid command, string email, string domain, IReadOnlyList<MailLimit> limits, CancellationToken cancellationToken);

    /// <summary>Counts a check of a domain's proof, unless a limit is reached.</summary>
    /// <param name="command">Id of the command; a repeated one is not counted again.</param>
    /// <returns>True if no limit is reached.</returns>
    Task<bool> CountCheckAsync(Guid command, IReadOnlyList<MailLimit> limits, CancellationToken cancellationToken);

    /// <summary>Finds the request or the subscription of an id.</summary>
    /// <returns>Null if it expired or was removed.</returns>
    Task<KnownSubscription?> FindSubscriptionAsync(Guid id, CancellationToken cancellationToken);

    /// <summary>
    /// Turns a request into a subscription, unless there is one, deletes the suppressions of these hashes, and records the proof of its
    /// domain. A request for an API key is only deleted.
    /// </summary>
    /// <returns>
    /// The subscription for which a mail is due; null if none is: the request was deleted or is for an API key, or the mail was sent.
    /// </returns>
    Task<MailDue?> VerifySubscriptionAsync(
        Guid command, Guid request, IReadOnlyCollection<string> suppressions, CancellationToken cancellationToken);

    /// <summary>Records that the mail of a command was sent or abandoned.</summary>
    Task RecordCommandMailAsync(Guid command, CancellationToken cancellationToken);

    /// <summary>Deletes requests, counts of mails and ids of commands that have expired.</summary>
    Task DeleteExpiredRequestsAsync(CancellationToken cancellationToken);

    /// <summary>Records a proof as checked now; replaces an earlier one.</summary>
    Task PutProofAsync(DomainProof proof, CancellationToken cancellationToken);

    /// <summary>Returns all proofs by domain.</summary>
    Task<IReadOnlyList<CheckedProof>> ListProofsAsync(CancellationToken cancellationToken);

    /// <summary>Records a check, unless the proof was replaced since it was listed. A second failure changes nothing.</summary>
    Task RecordCheckAsync(CheckedProof listed, bool succeeded, CancellationToken cancellationToken);

    /// <summary>
    /// Deletes a proof and the subscription that has the domain by it, unless the proof was replaced since it was listed. Keeps a request
    /// to prove the domain again.
    /// </summary>
    /// <returns>False if the proof was replaced or deleted.</returns>
    Task<bool> EndProofAsync(CheckedProof listed, CancellationToken cancellationToken);

    /// <summary>Deletes a proof only. The domain stays with its holder, and is never checked again.</summary>
    /// <param name="holder"><see cref="DomainProof.Holder"/>.</param>
    Task DeleteProofAsync(string holder, string domain, CancellationToken cancellationToken);
}

/// <summary>
/// At most <paramref name="Max"/> mails or checks within <paramref name="Window"/>, up to 30 days, that are counted under a key.
/// </summary>
/// <param name="Key">A hash that reveals nothing, or a word.</param>
public sealed record MailLimit(string Key, TimeSpan Window, int Max);

/// <param name="Due">The request for which a mail is due; null if none is.</param>
/// <param name="Reached">The limit that forbids the mail; null if none does.</param>
public sealed record RequestOutcome(MailDue? Due, MailLimit? Reached = null);

/// <summary>A mail that a command causes.</summary>
/// <param name="Subscription">Id of the subscription or request.</param>
public sealed record MailDue(Guid Subscription, string Email)
{
    // ToString must not show the address.
    private bool PrintMembers(System.Text.StringBuilder builder)
    {
        builder.Append(Subscription);
        return true;
    }
}

/// <param name="Subscription">The address, and the domain that it watches.</param>
/// <param name="IsVerified">False: it is a request.</param>
/// <param name="Proof">How the domain of a request is proven; null if it has none.</param>
/// <param name="Key">Hash of the API key that a request is for; if null, for the address itself.</param>
public sealed record KnownSubscription(Subscription Subscription, bool IsVerified, ProofKind? Proof = null, string? Key = null);

/// <param name="Email">Lower-case; gets the mail that confirms it.</param>
/// <param name="Domain">The domain that it watches, lower-case ASCII; if null, the address itself.</param>
/// <param name="Proof">How the domain is proven; null if there is no domain.</param>
/// <param name="Key">Hash of the API key that gets the domain; if null, it becomes a subscription.</param>
public sealed record SubscriptionRequest(string Email, string? Domain = null, ProofKind? Proof = null, string? Key = null)
{
    // ToString must not show the address.
    private bool PrintMembers(System.Text.StringBuilder builder)
    {
        builder.Append(Proof);
        return true;
    }
}

/// <param name="Holder">Holder of the domain: the hash of an API key, or the <see cref="HolderOf">id of a subscription</see>.</param>
/// <param name="Domain">Lower-case ASCII.</param>
public sealed record DomainProof(string Holder, string Domain, ProofKind Kind)
{
    /// <summary>The subscription that has the domain; null if an API key has it.</summary>
    public Guid? Subscription => Guid.TryParse(Holder, out var id) && Holder.Length == HolderOf(id).Length ? id : null;

    /// <summary>The mailbox that got the mail; null if the proof is of another kind.</summary>
    public string? Mailbox => Kind.Mailbox(Domain);

    public static string HolderOf(Guid subscription) => subscription.ToString("D");
}

/// <param name="FailedAt">Time of the last check, if it failed; null if it succeeded.</param>
public sealed record CheckedProof(DomainProof Proof, DateTimeOffset CheckedAt, DateTimeOffset? FailedAt);

/// <summary>How a domain is proven. The names are stored: a contract.</summary>
public enum ProofKind
{
    /// <summary>A TXT record.</summary>
    Dns,

    /// <summary>A file on its web server.</summary>
    File,

    /// <summary>A link in a mail to this mailbox of the domain, as the following ones.</summary>
    Security,

    Hostmaster,

    Postmaster,

    Webmaster,
}

public static class ProofKinds
{
    /// <summary>
    /// The names of mailboxes that only those who run a domain read (RFC 2142), as certificate authorities and Have I Been Pwned use them.
    /// </summary>
    public static readonly IReadOnlyList<string> Mailboxes = [.. Enum.GetValues<ProofKind>().Where(IsMailbox).Select(Name)];

    /// <summary>Returns the name under which the kind is stored and sent.</summary>
    public static string Name(this ProofKind kind) => kind.ToString().ToLowerInvariant();

    /// <summary>Returns the address of the mailbox in a domain; null if a proof of this kind needs no mail.</summary>
    public static string? Mailbox(this ProofKind kind, string domain) =>
        IsMailbox(kind) ? $"{kind.Name()}@{domain}" : null;

    /// <summary>Returns the kind of this name.</summary>
    /// <returns>Null if there is none.</returns>
    public static ProofKind? Parse(string? name) =>
        Enum.GetValues<ProofKind>().Cast<ProofKind?>().FirstOrDefault(
            kind => string.Equals(kind.ToString(), name, StringComparison.OrdinalIgnoreCase));

    private static bool IsMailbox(ProofKind kind) => kind is not (ProofKind.Dns or ProofKind.File);
}
