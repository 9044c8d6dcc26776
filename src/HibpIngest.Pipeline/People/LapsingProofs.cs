namespace HibpIngest.Pipeline.People;

/// <summary>
/// Ends proofs of domains, and notifies their owners. A mail is sent before its step is recorded: after a crash between the two it is sent
/// again, with the same Message-ID if that is on the same day.
/// </summary>
public sealed partial class LapsingProofs(
    IApiKeys apiKeys, ISubscriptionRequests requests, PersonMails mails, TimeProvider time, ILogger<LapsingProofs> log)
{
    // Short enough that a sold domain is noticed.
    private static readonly TimeSpan CheckAfter = TimeSpan.FromDays(90);

    // A mailbox can't be checked without another mail.
    private static readonly TimeSpan MailboxLasts = TimeSpan.FromDays(365);

    // Time to repair a DNS or web server that was moved.
    private static readonly TimeSpan RetryAfter = TimeSpan.FromDays(7);

    // After this, the step is recorded even if the mail can't be sent: a mail server that is down must not keep a proof alive.
    private static readonly TimeSpan WaitForMail = TimeSpan.FromDays(3);

    /// <summary>Returns for how long a check has been due; negative: it is not due yet.</summary>
    public TimeSpan OverdueOf(CheckedProof listed) => time.GetUtcNow() - (listed.FailedAt is { } failed ? failed + RetryAfter
        : listed.CheckedAt + (listed.Proof.Mailbox is null ? CheckAfter : MailboxLasts));

    /// <summary>Records a failed check. The second one, or the expiry of a proof by mail, removes the domain from its holder.</summary>
    /// <param name="address">Address to notify; null if the holder has none.</param>
    /// <param name="overdue">Time since the check became due.</param>
    /// <exception cref="UnavailableException">The mail can't be sent now; nothing was recorded.</exception>
    public async Task FailAsync(CheckedProof listed, string? address, TimeSpan overdue, CancellationToken cancellationToken)
    {
        var proof = listed.Proof;
        var mayWait = overdue < WaitForMail;
        if (proof.Mailbox is null && listed.FailedAt is null)
        {
            await NotifyAsync(proof, address, RetryAfter.Days, mayWait, cancellationToken);
            await requests.RecordCheckAsync(listed, succeeded: false, cancellationToken);
            LogFailed(proof.Domain, RetryAfter.Days);
            return;
        }
        await NotifyAsync(proof, address, null, mayWait, cancellationToken);
        if (proof.Subscription is null)
            await apiKeys.SetDomainAsync(proof.Holder, proof.Domain, isProven: false, cancellationToken);
        if (await requests.EndProofAsync(listed, cancellationToken))
            LogLapsed(proof.Domain);
        else if (proof.Subscription is null)
        {
            // Proven again meanwhile. If the proof were ended before the key, a crash between them would leave the key an unchecked domain.
            await apiKeys.SetDomainAsync(proof.Holder, proof.Domain, isProven: true, cancellationToken);
        }
    }

    private async Task NotifyAsync(
        DomainProof proof, string? address, int? retryAfterDays, bool mayWait, CancellationToken cancellationToken)
    {
        if (address is null)
            return;
        var now = time.GetUtcNow();
        var id = new Guid(SHA256.HashData(Encoding.UTF8.GetBytes(
            string.Create(CultureInfo.InvariantCulture, $"{proof.Holder} {proof.Domain} {retryAfterDays} {now:yyyyMMdd}"))).AsSpan(0, 16));
        try
        {
            await mails.SendProofNoticeAsync(
                id, new MailDue(proof.Subscription ?? Guid.Empty, address), now, proof, retryAfterDays, cancellationToken);
        }
        catch (Exception e) when (e is BadInputException || !mayWait && e is UnavailableException)
        {
            LogRefused(proof.Domain, e.Message);
        }
    }

    [LoggerMessage(EventIds.ProvenDomainsNotChecked, LogLevel.Warning, "proof of {Domain}: not checked: {Reason}")]
    internal partial void LogNotChecked(string domain, string reason);

    [LoggerMessage(EventIds.ProvenDomainsFailed, LogLevel.Warning, "proof of {Domain}: not found; checked again in {Days} days")]
    private partial void LogFailed(string domain, int days);

    [LoggerMessage(EventIds.ProvenDomainsLapsed, LogLevel.Warning, "proof of {Domain}: ended; its holder has lost the domain")]
    private partial void LogLapsed(string domain);

    [LoggerMessage(
        EventIds.ProvenDomainsRefused, LogLevel.Warning, "proof of {Domain}: the mail about it can't be sent: {Reason}")]
    private partial void LogRefused(string domain, string reason);
}
