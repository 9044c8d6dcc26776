namespace HibpIngest.Stores;

/// <summary>Subscriptions that people ask for, until they verify them, and the limits of the mails that this causes.</summary>
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
    /// The subscription for which a mail is due; null: none is, because the request was deleted or is for an API key, or the mail was sent.
    /// </returns>
    Task<MailDue?> VerifySubscriptionAsync(
        Guid command, Guid request, IReadOnlyCollection<string> suppressions, CancellationToken cancellationToken);

    /// <summary>Records that the mail of a command was sent or abandoned.</summary>
    Task RecordCommandMailAsync(Guid command, CancellationToken cancellationToken);

    /// <summary>Deletes requests, counts of mails and ids of commands that have expired.</summary>
    Task DeleteExpiredRequestsAsync(CancellationToken cancellationToken);
}

/// <summary>
/// At most <paramref name="Max"/> mails or checks within <paramref name="Window"/>, up to 30 days, that are counted under a key.
/// </summary>
/// <param name="Key">A hash that reveals nothing, or a word.</param>
public sealed record MailLimit(string Key, TimeSpan Window, int Max);

/// <param name="Due">The request for which a mail is due; null: none is.</param>
/// <param name="Reached">The limit that forbids the mail; null: none does.</param>
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
/// <param name="Proof">How the domain of a request is proven; null: it has none.</param>
/// <param name="Key">Hash of the API key that a request is for; null: for the address itself.</param>
public sealed record KnownSubscription(Subscription Subscription, bool IsVerified, ProofKind? Proof = null, string? Key = null);

/// <param name="Email">Lower-case; gets the mail that confirms it.</param>
/// <param name="Domain">The domain that it watches, lower-case ASCII; null: the address itself.</param>
/// <param name="Proof">How the domain is proven; null: there is no domain.</param>
/// <param name="Key">Hash of the API key that gets the domain; null: it becomes a subscription.</param>
public sealed record SubscriptionRequest(string Email, string? Domain = null, ProofKind? Proof = null, string? Key = null)
{
    // ToString must not show the address.
    private bool PrintMembers(System.Text.StringBuilder builder)
    {
        builder.Append(Proof);
        return true;
    }
}
