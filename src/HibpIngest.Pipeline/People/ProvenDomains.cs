using HibpIngest.People;

namespace HibpIngest.Pipeline.People;

/// <summary>
/// Gives API keys the domains that their owners prove by the DNS, and checks the proofs again. The proof is recorded first, so that no
/// domain escapes the later checks.
/// </summary>
public sealed partial class ProvenDomains(
    IApiKeys apiKeys, IDomainProofs proofs, IDomainRecords records, InstallationKeys keys, ILogger<ProvenDomains> log)
{
    // As long as a certificate's domain validation used to last, and time to repair a DNS that was moved.
    private static readonly TimeSpan CheckAfter = TimeSpan.FromDays(90);
    private static readonly TimeSpan RetryAfter = TimeSpan.FromDays(7);

    /// <summary>Adds a domain to a key, if its DNS proves it: the web app's own look-up is not trusted.</summary>
    /// <returns>Why the command is ignored, or null.</returns>
    /// <exception cref="StoreUnavailableException">The DNS or a store gave no answer.</exception>
    public async Task<string?> VerifyAsync(PersonCommand command, CancellationToken cancellationToken)
    {
        if (command.Key is not { } key || !AccountRules.TryParseDomain(command.Domain ?? "", out var domain, out _)
            || !ClaimableDomains.CanHaveOwner(domain))
        {
            return "it names no domain that can have an owner";
        }
        if (await apiKeys.FindAsync(key, cancellationToken) is not { } found || !found.Scopes.HasFlag(KeyScopes.Verify))
            return "its API key may not add domains";
        var proof = new DomainProof(key, domain);
        if (!await IsProvenAsync(proof, cancellationToken))
            return "the domain's DNS does not prove it";
        await proofs.PutProofAsync(proof, cancellationToken);
        await apiKeys.SetDomainAsync(key, domain, isProven: true, cancellationToken);
        return null;
    }

    /// <summary>Checks the proofs that are due; a second failure, a week after the first, takes the domain from the key.</summary>
    public async Task CheckAsync(CancellationToken cancellationToken)
    {
        foreach (var proof in await proofs.ListDueProofsAsync(CheckAfter, RetryAfter, cancellationToken))
        {
            try
            {
                await CheckAsync(proof, cancellationToken);
            }
            catch (StoreUnavailableException e)
            {
                // Checked again tomorrow. The servers of one domain may be broken for weeks, and must not keep the others from their check.
                LogNotChecked(proof.Domain, e.Message);
            }
        }
    }

    private async Task CheckAsync(DomainProof proof, CancellationToken cancellationToken)
    {
        if (await apiKeys.FindAsync(proof.Key, cancellationToken) is not { } key)
            await proofs.DeleteProofAsync(proof, cancellationToken); // revoked
        else if (await IsProvenAsync(proof, cancellationToken))
            await proofs.PutProofAsync(proof, cancellationToken);
        else if (!await proofs.RecordFailedCheckAsync(proof, cancellationToken))
            LogFailed(key.Name, proof.Domain, RetryAfter.Days);
        else
        {
            await apiKeys.SetDomainAsync(proof.Key, proof.Domain, isProven: false, cancellationToken);
            await proofs.DeleteProofAsync(proof, cancellationToken);
            LogLapsed(key.Name, proof.Domain);
        }
    }

    private async Task<bool> IsProvenAsync(DomainProof proof, CancellationToken cancellationToken) =>
        (await records.ListTextAsync(proof.Domain, cancellationToken)).Any(
            record => keys.Links!.Proves(record, proof.Key, proof.Domain));

    [LoggerMessage(
        EventIds.ProvenDomainsFailed, LogLevel.Warning,
        "key {Key}: the DNS of {Domain} no longer proves it; checked again in {Days} days")]
    private partial void LogFailed(string key, string domain, int days);

    [LoggerMessage(EventIds.ProvenDomainsNotChecked, LogLevel.Warning, "proof of {Domain}: not checked: {Reason}")]
    private partial void LogNotChecked(string domain, string reason);

    [LoggerMessage(EventIds.ProvenDomainsLapsed, LogLevel.Warning, "key {Key}: lost {Domain}, because its DNS no longer proves it")]
    private partial void LogLapsed(string key, string domain);
}
