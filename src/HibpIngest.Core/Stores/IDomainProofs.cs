namespace HibpIngest.Stores;

/// <summary>The domains that their owners have proven, and when each proof was checked.</summary>
public interface IDomainProofs
{
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

/// <param name="Holder">Holder of the domain: the hash of an API key, or the <see cref="HolderOf">id of a subscription</see>.</param>
/// <param name="Domain">Lower-case ASCII.</param>
public sealed record DomainProof(string Holder, string Domain, ProofKind Kind)
{
    /// <summary>The subscription that has the domain; null: an API key has it.</summary>
    public Guid? Subscription => Guid.TryParse(Holder, out var id) && Holder.Length == HolderOf(id).Length ? id : null;

    /// <summary>The mailbox that got the mail; null: the proof is of another kind.</summary>
    public string? Mailbox => Kind.Mailbox(Domain);

    public static string HolderOf(Guid subscription) => subscription.ToString("D");
}

/// <param name="FailedAt">Time of the last check, if it failed; null: it succeeded.</param>
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

    /// <summary>Returns the address of the mailbox in a domain; null: a proof of this kind needs no mail.</summary>
    public static string? Mailbox(this ProofKind kind, string domain) =>
        IsMailbox(kind) ? $"{kind.Name()}@{domain}" : null;

    /// <summary>Returns the kind of this name.</summary>
    /// <returns>Null if there is none.</returns>
    public static ProofKind? Parse(string? name) =>
        Enum.GetValues<ProofKind>().Cast<ProofKind?>().FirstOrDefault(
            kind => string.Equals(kind.ToString(), name, StringComparison.OrdinalIgnoreCase));

    private static bool IsMailbox(ProofKind kind) => kind is not (ProofKind.Dns or ProofKind.File);
}
