namespace HibpIngest.Stores;

/// <summary>The domains that owners of API keys have proven, and when each proof was checked.</summary>
public interface IDomainProofs
{
    /// <summary>Records a proof as checked now; replaces an earlier one.</summary>
    Task PutProofAsync(DomainProof proof, CancellationToken cancellationToken);

    /// <summary>Returns the proofs that were last checked this long ago, or failed this long ago.</summary>
    Task<IReadOnlyList<DomainProof>> ListDueProofsAsync(TimeSpan checkAfter, TimeSpan retryAfter, CancellationToken cancellationToken);

    /// <summary>Records that a check failed, unless one had failed before.</summary>
    /// <returns>Whether one had.</returns>
    Task<bool> RecordFailedCheckAsync(DomainProof proof, CancellationToken cancellationToken);

    Task DeleteProofAsync(DomainProof proof, CancellationToken cancellationToken);
}

/// <param name="Key">Hash of the API key.</param>
/// <param name="Domain">Lower-case ASCII.</param>
public sealed record DomainProof(string Key, string Domain);
