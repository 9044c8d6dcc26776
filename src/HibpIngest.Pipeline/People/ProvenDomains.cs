using HibpIngest.People;

namespace HibpIngest.Pipeline.People;

/// <summary>
/// Decides whether a domain is proven, and checks the proofs again. A proof is recorded first, so that no domain escapes the later checks.
/// </summary>
public sealed class ProvenDomains(
    IApiKeys apiKeys, IDomainProofs proofs, IDomainRecords records, ISubscriptionRequests requests, InstallationKeys keys,
    PersonLimits limits, LapsingProofs lapsing)
{
    /// <summary>Adds a domain to a key, if its DNS proves it: the web app's own look-up is not trusted.</summary>
    /// <returns>Why the command is ignored, or null.</returns>
    /// <exception cref="StoreUnavailableException">The DNS or a store gave no answer.</exception>
    public async Task<string?> VerifyAsync(PersonCommand command, CancellationToken cancellationToken)
    {
        command = command with { Proof = ProofKind.Dns };
        if (command.Key is null)
            return "it names no API key";
        return await FindRefusalAsync(command, cancellationToken)
            ?? await AddAsync(new DomainProof(command.Key, command.Domain!, ProofKind.Dns), cancellationToken);
    }

    /// <summary>Adds a proven domain to the API key that holds the proof.</summary>
    /// <returns>Why it is not added, or null.</returns>
    internal async Task<string?> AddAsync(DomainProof proof, CancellationToken cancellationToken)
    {
        if (await FindKeyRefusalAsync(proof.Holder, cancellationToken) is { } reason)
            return reason;
        await proofs.PutProofAsync(proof, cancellationToken);
        await apiKeys.SetDomainAsync(proof.Holder, proof.Domain, isProven: true, cancellationToken);
        return null;
    }

    /// <summary>
    /// Returns why a request for a domain is refused. A proof by mail isn't checked: the mail itself proves the domain.
    /// </summary>
    /// <returns>Null if it isn't refused.</returns>
    /// <exception cref="StoreUnavailableException">A store, or the DNS of an API key's domain, gave no answer.</exception>
    public async Task<string?> FindRefusalAsync(PersonCommand command, CancellationToken cancellationToken)
    {
        // A number that is no kind would name a mailbox of somebody else.
        if (command.Proof is not { } kind || !Enum.IsDefined(kind) || command.Domain is not { } domain
            || !AccountRules.TryParseDomain(domain, out var parsed, out _) || parsed != domain || !ClaimableDomains.CanHaveOwner(domain))
        {
            return "it names no domain that can have an owner";
        }
        if (command.Key is { } key && await FindKeyRefusalAsync(key, cancellationToken) is { } reason)
            return reason;
        if (kind.Mailbox(domain) is not null)
            return null;
        if ((command.Key ?? command.Email) is not { } holder)
            return "it names no address";
        if (!await requests.CountCheckAsync(command.Id, limits.OfCheck(command.Key ?? command.Network ?? "", domain), cancellationToken))
            return "a limit of checks is reached";
        try
        {
            return await IsProvenAsync(kind, holder, domain, cancellationToken) ? null : "its domain is not proven";
        }
        catch (StoreUnavailableException) when (command.Key is null)
        {
            // Anybody can name a domain whose servers don't answer: it must not be asked for days.
            return "the DNS of its domain gave no answer";
        }
    }

    /// <summary>Checks the proofs that are due; a second failure, a week after the first, ends one.</summary>
    public async Task CheckAsync(CancellationToken cancellationToken)
    {
        foreach (var listed in await proofs.ListProofsAsync(cancellationToken))
        {
            var overdue = lapsing.OverdueOf(listed);
            if (overdue < TimeSpan.Zero)
                continue;
            try
            {
                await CheckAsync(listed, overdue, cancellationToken);
            }
            catch (StoreUnavailableException e)
            {
                // Checked again tomorrow. The servers of one domain may be broken for weeks, and must not keep the others from their check.
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
            await proofs.EndProofAsync(listed, cancellationToken); // revoked or unsubscribed
        else if (proof.Mailbox is null && await IsProvenAsync(proof.Kind, holder, proof.Domain, cancellationToken))
            await proofs.RecordCheckAsync(listed, succeeded: true, cancellationToken);
        else
            await lapsing.FailAsync(listed, proof.Subscription is null ? proof.Mailbox : holder, overdue, cancellationToken);
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
