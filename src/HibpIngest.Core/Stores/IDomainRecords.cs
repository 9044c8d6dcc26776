namespace HibpIngest.Stores;

/// <summary>What a domain's owner has published in the DNS.</summary>
public interface IDomainRecords
{
    /// <summary>Returns the TXT records of a domain; none if it has none, or doesn't exist.</summary>
    /// <exception cref="Errors.StoreUnavailableException">The DNS gave no answer.</exception>
    Task<IReadOnlyList<string>> ListTextAsync(string domain, CancellationToken cancellationToken);
}
