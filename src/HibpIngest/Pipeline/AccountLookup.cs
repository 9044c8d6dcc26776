using HibpIngest.Breaches;

namespace HibpIngest.Pipeline;

/// <summary>Which public breaches an address is in.</summary>
public sealed class AccountLookup(PipelineContext context)
{
    /// <summary>Public breaches (see <see cref="Breach.IsPublic"/>) of an address, by name. The address is trimmed and lower-cased, and held to the rules that accounts are held to.</summary>
    /// <exception cref="Errors.BadInputException">Not an address.</exception>
    public Task<IReadOnlyList<Breach>> FindAsync(string email, CancellationToken cancellationToken) => throw new NotImplementedException(context.Owner + email);
}
