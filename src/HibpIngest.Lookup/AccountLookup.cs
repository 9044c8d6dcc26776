using HibpIngest.Accounts;
using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.Lookup;

/// <summary>Which public breaches an address is in.</summary>
public sealed class AccountLookup(ICatalogue catalogue, IAccountTable table)
{
    /// <summary>
    /// Public breaches (see <see cref="Breach.IsPublic"/>) of an address, by name. The address is trimmed and
    /// lower-cased, and held to the rules that accounts are held to.
    /// </summary>
    /// <exception cref="BadInputException">Not an address.</exception>
    public async Task<IReadOnlyList<Breach>> FindAsync(string email, CancellationToken cancellationToken)
    {
        if (!AccountRules.TryParse(email, out var alias, out var domain, out var broken))
            throw new BadInputException($"that is no email address that could be an account (rule {broken})");
        var breaches = await catalogue.ListBreachesAsync(cancellationToken);
        var shown = breaches.Where(breach => breach.IsPublic && breach.Marks.Count > 0).ToList();
        if (shown.Count == 0)
            return [];
        var marks = await table.GetMarksAsync(domain, alias, shown.Max(breach => breach.Marks[^1]), cancellationToken);
        return [.. shown.Where(breach => breach.Marks.Any(marks.Contains))];
    }
}
