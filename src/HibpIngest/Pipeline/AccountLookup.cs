using HibpIngest.Accounts;
using HibpIngest.Breaches;
using HibpIngest.Errors;

namespace HibpIngest.Pipeline;

/// <summary>Which public breaches an address is in.</summary>
public sealed class AccountLookup(PipelineContext context)
{
    /// <summary>Public breaches (see <see cref="Breach.IsPublic"/>) of an address, by name. The address is trimmed and lower-cased, and held to the rules that accounts are held to.</summary>
    /// <exception cref="BadInputException">Not an address.</exception>
    public async Task<IReadOnlyList<Breach>> FindAsync(string email, CancellationToken cancellationToken)
    {
        if (!AccountRules.TryParse(email, out var alias, out var domain, out var broken))
            throw new BadInputException($"that is no email address that could be an account (rule {broken})");
        var breaches = await context.Database.ListBreachesAsync(cancellationToken);
        var highest = breaches.Count > 0 ? breaches.Max(breach => breach.Id) : 0;
        if (highest == 0)
            return [];
        var ids = await context.Table.GetBreachesAsync(domain, alias, highest, cancellationToken);
        return [.. breaches.Where(breach => breach.IsPublic && ids.Contains(breach.Id))];
    }
}
