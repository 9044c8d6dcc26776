namespace HibpIngest.Stores;

/// <summary>Subscriptions that people ask for, until they verify them, and the limits of the mails that this causes.</summary>
public interface ISubscriptionRequests
{
    /// <summary>
    /// Records a request and the mail that it causes, unless a limit is reached. An address has one request at a time: another one extends
    /// it. Deletes what has expired.
    /// </summary>
    /// <param name="command">Id of the command; a repeated one is not counted again.</param>
    /// <param name="email">Lower-case.</param>
    /// <param name="limits">In the order in which they are checked.</param>
    Task<RequestOutcome> RequestSubscriptionAsync(
        Guid command, string email, IReadOnlyList<MailLimit> limits, TimeSpan validFor, CancellationToken cancellationToken);

    /// <summary>Finds the request or the subscription of an id.</summary>
    /// <returns>Null: it expired or was removed.</returns>
    Task<KnownSubscription?> FindSubscriptionAsync(Guid id, CancellationToken cancellationToken);

    /// <summary>Turns a request into a subscription, unless the address has one, and deletes the suppression of this hash.</summary>
    /// <returns>The subscription for which a mail is due; null: none is, because the request is gone or the mail was sent.</returns>
    Task<MailDue?> VerifySubscriptionAsync(Guid command, Guid request, string suppression, CancellationToken cancellationToken);

    /// <summary>Records that the mail of a command was sent or given up.</summary>
    Task RecordCommandMailAsync(Guid command, CancellationToken cancellationToken);

    /// <summary>Deletes requests, counts of mails and ids of commands that have expired.</summary>
    Task DeleteExpiredRequestsAsync(CancellationToken cancellationToken);
}

/// <summary>At most <paramref name="Max"/> mails within <paramref name="Window"/>, up to 30 days, that are counted under a key.</summary>
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
public sealed record KnownSubscription(Subscription Subscription, bool IsVerified);
