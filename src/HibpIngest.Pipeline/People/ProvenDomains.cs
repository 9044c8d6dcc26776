using HibpIngest.People;

namespace HibpIngest.Pipeline.People;

/// <summary>
/// Verifies proofs of domain ownership, and verifies them again when they are due. A proof is recorded before its domain is added, so that
/// no domain escapes the later checks.
/// </summary>
public sealed class ProvenDomains(
    IApiKeys apiKeys, ISubscriptionRequests requests, IDomainRecords records, InstallationKeys keys, PersonLimits limits,
    LapsingProofs lapsing)
{
    /// <summary>Adds a domain to a key, if its DNS proves it. The lookup is repeated here, because the web app is not trusted.</summary>
    /// <returns>Reason for ignoring the command; null if it was executed.</returns>
    /// <exception cref="UnavailableException">The DNS or a store did not respond.</exception>
    public async Task<string?> VerifyAsync(PersonCommand command, CancellationToken cancellationToken)
    {
        command = command with { Proof = ProofKind.Dns };
        if (command.Key is null)
            return "no API key is given";
        return await FindRefusalAsync(command, cancellationToken)
            ?? await AddAsync(new DomainProof(command.Key, command.Domain!, ProofKind.Dns), cancellationToken);
    }

    /// <returns>Reason why it is not added; null if it is.</returns>
    internal async Task<string?> AddAsync(DomainProof proof, CancellationToken cancellationToken)
    {
        if (await FindKeyRefusalAsync(proof.Holder, cancellationToken) is { } reason)
            return reason;
        await requests.PutProofAsync(proof, cancellationToken);
        await apiKeys.SetDomainAsync(proof.Holder, proof.Domain, isProven: true, cancellationToken);
        return null;
    }

    /// <summary>Returns why a request for a domain is refused. A proof by mail isn't checked: the mail itself proves the domain.</summary>
    /// <returns>Null if it isn't refused.</returns>
    /// <exception cref="UnavailableException">A store, or the DNS of an API key's domain, did not respond.</exception>
    public async Task<string?> FindRefusalAsync(PersonCommand command, CancellationToken cancellationToken)
    {
        // An undefined kind must be refused: it would name a mailbox that isn't the owner's.
        if (command.Proof is not { } kind || !Enum.IsDefined(kind) || command.Domain is not { } domain
            || !AccountRules.TryParseDomain(domain, out var parsed, out _) || parsed != domain || !ClaimableDomains.CanHaveOwner(domain))
        {
            return "the domain is invalid or can't have an owner";
        }
        if (command.Key is { } key && await FindKeyRefusalAsync(key, cancellationToken) is { } reason)
            return reason;
        if (kind.Mailbox(domain) is not null)
            return null;
        if ((command.Key ?? command.Email) is not { } holder)
            return "no email address is given";
        if (!await requests.CountCheckAsync(command.Id, limits.OfCheck(command.Key ?? command.Network ?? "", domain), cancellationToken))
            return "too many checks were requested";
        try
        {
            return await IsProvenAsync(kind, holder, domain, cancellationToken) ? null : "its domain is not proven";
        }
        catch (UnavailableException) when (command.Key is null)
        {
            // Anyone can name a domain whose servers don't respond. It is refused, so that it isn't retried for days.
            return "the DNS of its domain did not respond";
        }
    }

    /// <summary>Checks the proofs that are due. A proof that fails twice, a week apart, is ended.</summary>
    public async Task CheckAsync(CancellationToken cancellationToken)
    {
        foreach (var listed in await requests.ListProofsAsync(cancellationToken))
        {
            var overdue = lapsing.OverdueOf(listed);
            if (overdue < TimeSpan.Zero)
                continue;
            try
            {
                await CheckAsync(listed, overdue, cancellationToken);
            }
            catch (UnavailableException e)
            {
                // This proof is checked again tomorrow. One domain's servers may be broken for weeks and must not block other checks.
                lapsing.LogNotChecked(listed.Proof.Domain, e.Message);
            }
        }
    }

    private async Task<string?> FindKeyRefusalAsync(string key, CancellationToken cancellationToken) =>
        await apiKeys.FindAsync(key, cancellationToken) is { } found && found.Scopes.HasFlag(KeyScopes.Verify)
            ? null : "its API key was revoked, or may not add domains";

    private async Task CheckAsync(CheckedProof listed, TimeSpan overdue, CancellationToken cancellationToken)
    {
        var proof = listed.Proof;
        if (await FindHolderAsync(proof, cancellationToken) is not { } holder)
            await requests.EndProofAsync(listed, cancellationToken); // revoked or unsubscribed
        else if (proof.Mailbox is null && await IsProvenAsync(proof.Kind, holder, proof.Domain, cancellationToken))
            await requests.RecordCheckAsync(listed, succeeded: true, cancellationToken);
        else
            await lapsing.FailAsync(listed, proof.Subscription is null ? proof.Mailbox : holder, overdue, cancellationToken);
    }

    /// <returns>The key's hash or the subscriber's address; null if the holder no longer has the domain.</returns>
    private async Task<string?> FindHolderAsync(DomainProof proof, CancellationToken cancellationToken)
    {
        if (proof.Subscription is not { } id)
        {
            var hasDomain = await apiKeys.FindAsync(proof.Holder, cancellationToken) is { } key
                && key.Domains.Contains(proof.Domain, StringComparer.Ordinal);
            return hasDomain ? proof.Holder : null;
        }
        // A pending renewal has the subscription's id and is found instead of it. Removing the subscription deletes both.
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
