using System.Runtime.CompilerServices;

namespace HibpIngest.Api.Lookup;

/// <summary>Looks up accounts' breaches in the account table and the catalogue, never in SQL.</summary>
public sealed class BreachedAccounts(CatalogueReader catalogue, IAccountReads accounts)
{
    /// <summary>
    /// Returns the breaches of one account, by name, without sensitive and retired ones. One point read per 250 marks, in parallel.
    /// </summary>
    public async Task<IReadOnlyList<PublishedBreach>> FindAsync(Account account, CancellationToken cancellationToken)
    {
        var snapshot = await catalogue.GetAsync(cancellationToken);
        return snapshot.BreachesOf(
            await accounts.GetMarksAsync(account, snapshot.HighestMark, cancellationToken), forOwner: false);
    }

    /// <summary>
    /// Returns the accounts of a domain that are in a breach, in order, with their breaches, including sensitive ones: for the domain's
    /// owner.
    /// </summary>
    public async IAsyncEnumerable<(string Alias, IReadOnlyList<PublishedBreach> Breaches)> ReadDomainAsync(
        string domain, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        var snapshot = await catalogue.GetAsync(cancellationToken);
        await foreach (var (alias, marks) in accounts.ReadDomainAsync(domain, cancellationToken))
        {
            if (snapshot.BreachesOf(marks, forOwner: true) is { Count: > 0 } breaches)
                yield return (alias, breaches);
        }
    }
}
