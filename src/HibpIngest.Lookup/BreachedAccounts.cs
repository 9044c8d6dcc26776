using System.Runtime.CompilerServices;
using HibpIngest.Stores;

namespace HibpIngest.Lookup;

/// <summary>Which breaches accounts are in: from the account table and the catalogue, never from SQL.</summary>
public sealed class BreachedAccounts(CatalogueReader catalogue, IAccountReads accounts)
{
    /// <summary>
    /// The breaches of one account, by name, without those that nobody is told of about somebody (sensitive, retired). One
    /// point read, and in parallel one more for every 250 marks.
    /// </summary>
    /// <param name="alias">Lower-case, of an account by our rules.</param>
    public async Task<IReadOnlyList<PublishedBreach>> FindAsync(string alias, string domain, CancellationToken cancellationToken)
    {
        var snapshot = await catalogue.GetAsync(cancellationToken);
        return snapshot.BreachesOf(
            await accounts.GetMarksAsync(domain, alias, snapshot.HighestMark, cancellationToken), withSensitive: false);
    }

    /// <summary>
    /// The accounts of a domain that are in a breach, in order, with the breaches' names; for its owner, who is told of
    /// sensitive ones too.
    /// </summary>
    public async IAsyncEnumerable<(string Alias, IReadOnlyList<PublishedBreach> Breaches)> ReadDomainAsync(
        string domain, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        var snapshot = await catalogue.GetAsync(cancellationToken);
        await foreach (var (alias, marks) in accounts.ReadDomainAsync(domain, cancellationToken))
        {
            if (snapshot.BreachesOf(marks, withSensitive: true) is { Count: > 0 } breaches)
                yield return (alias, breaches);
        }
    }
}
