using HibpIngest.People;

namespace HibpIngest.Pipeline.People;

/// <summary>
/// Decides whether a domain is proven, and checks the proofs again. A proof is recorded first, so that no domain escapes the later checks.
/// </summary>
public sealed partial class ProvenDomains(
    IApiKeys apiKeys, IDomainProofs proofs, IDomainRecords records, ISubscriptionRequests requests, InstallationKeys keys,
    LapsingProofs lapsing, TimeProvider time)
{
    // Short enough that a sold domain is noticed.
    private static readonly TimeSpan CheckAfter = TimeSpan.FromDays(90);

    // A mailbox can't be checked without another mail.
    private static readonly TimeSpan MailboxLasts = TimeSpan.FromDays(365);

    /// <summary>Adds a domain to a key, if its DNS proves it: the web app's own look-up is not trusted.</summary>
    /// <returns>Why the command is ignored, or null.</returns>
    /// <exception cref="StoreUnavailableException">The DNS or a store gave no answer.</exception>
    public async Task<string?> VerifyAsync(PersonCommand command, CancellationToken cancellationToken)
    {
        command = command with { Proof = ProofKind.Dns };
        if (command.Key is null)
            return "it names no API key";
        if (await FindRefusalAsync(command, cancellationToken) is { } reason)
            return reason;
        var proof = new DomainProof(command.Key, command.Domain!, ProofKind.Dns);
        await proofs.PutProofAsync(proof, cancellationToken);
        await apiKeys.SetDomainAsync(proof.Holder, proof.Domain, isProven: true, cancellationToken);
        return null;
    }

    /// <summary>
    /// Returns why a request for a domain is refused. A proof by mail isn't checked: the mail itself proves the domain.
    /// </summary>
    /// <returns>Null if it isn't refused.</returns>
    /// <exception cref="StoreUnavailableException">The DNS or a store gave no answer.</exception>
    public async Task<string?> FindRefusalAsync(PersonCommand command, CancellationToken cancellationToken)
    {
        // A number that is no kind would name a mailbox of somebody else.
        if (command.Proof is not { } kind || !Enum.IsDefined(kind) || command.Domain is not { } domain
            || !AccountRules.TryParseDomain(domain, out var parsed, out _) || parsed != domain || !ClaimableDomains.CanHaveOwner(domain))
        {
            return "it names no domain that can have an owner";
        }
        if (command.Key is { } key
            && (await apiKeys.FindAsync(key, cancellationToken) is not { } found || !found.Scopes.HasFlag(KeyScopes.Verify)))
        {
            return "its API key may not add domains";
        }
        if (kind.Mailbox(domain) is not null)
            return null;
        if ((command.Key ?? command.Email) is not { } holder)
            return "it names no address";
        return await IsProvenAsync(kind, holder, domain, cancellationToken) ? null : "its domain is not proven";
    }

    /// <summary>Checks the proofs that are due; a second failure, a week after the first, ends one.</summary>
    public async Task CheckAsync(CancellationToken cancellationToken)
    {
        var now = time.GetUtcNow();
        foreach (var (proof, checkedAt, failedAt) in await proofs.ListProofsAsync(cancellationToken))
        {
            var dueAt = failedAt is { } failed ? failed + LapsingProofs.RetryAfter
                : checkedAt + (proof.Mailbox is null ? CheckAfter : MailboxLasts);
            if (dueAt > now)
                continue;
            try
            {
                await CheckAsync(proof, failedAt is not null, now - dueAt, cancellationToken);
            }
            catch (StoreUnavailableException e)
            {
                // Checked again tomorrow. The servers of one domain may be broken for weeks, and must not keep the others from their check.
                lapsing.LogNotChecked(proof.Domain, e.Message);
            }
        }
    }

    private async Task CheckAsync(DomainProof proof, bool hasFailed, TimeSpan overdue, CancellationToken cancellationToken)
    {
        if (await FindHolderAsync(proof, cancellationToken) is not { } holder)
            await proofs.DeleteProofAsync(proof, cancellationToken); // revoked or unsubscribed
        else if (proof.Mailbox is null && await IsProvenAsync(proof.Kind, holder, proof.Domain, cancellationToken))
            await proofs.PutProofAsync(proof, cancellationToken);
        else
        {
            await lapsing.FailAsync(
                proof, hasFailed, proof.Subscription is null ? proof.Mailbox : holder, overdue, cancellationToken);
        }
    }

    /// <returns>The key's hash or the subscriber's address; null: it has the domain no more.</returns>
    private async Task<string?> FindHolderAsync(DomainProof proof, CancellationToken cancellationToken)
    {
        if (proof.Subscription is not { } id)
        {
            return await apiKeys.FindAsync(proof.Holder, cancellationToken) is { } key
                && key.Domains.Contains(proof.Domain, StringComparer.Ordinal) ? proof.Holder : null;
        }
        // A request to renew it has the same id, and is found first. A removal deletes both.
        return await requests.FindSubscriptionAsync(id, cancellationToken) is { Subscription: var known }
            && known.Domain == proof.Domain ? known.Email : null;
    }

    private async Task<bool> IsProvenAsync(ProofKind kind, string holder, string domain, CancellationToken cancellationToken)
    {
        var lines = kind == ProofKind.Dns ? await records.ListTextAsync(domain, cancellationToken)
            : await records.ReadFileAsync(domain, cancellationToken);
        return lines.Any(line => keys.Links!.Proves(line, holder, domain));
    }
}
