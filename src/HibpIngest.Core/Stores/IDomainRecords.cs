namespace HibpIngest.Stores;

/// <summary>Reads the records and files that a domain's owner has published to prove it.</summary>
public interface IDomainRecords
{
    /// <summary>Returns the TXT records of a domain; none if it has none, or doesn't exist.</summary>
    /// <exception cref="Errors.UnavailableException">DNS did not respond.</exception>
    Task<IReadOnlyList<string>> ListTextAsync(string domain, CancellationToken cancellationToken);

    /// <summary>
    /// Returns the lines of the file <c>https://DOMAIN/.well-known/hibp-verify.txt</c>; none if there is none, or the server can't be
    /// reached.
    /// </summary>
    Task<IReadOnlyList<string>> ReadFileAsync(string domain, CancellationToken cancellationToken);
}
