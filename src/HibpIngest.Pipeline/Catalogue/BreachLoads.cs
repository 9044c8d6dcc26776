namespace HibpIngest.Pipeline.Catalogue;

/// <summary>Looks up a breach and its loads by the name that an operator gives.</summary>
public sealed class BreachLoads(ICatalogue catalogue, ILoads loads)
{
    public async Task<Breach> GetBreachAsync(string breach, CancellationToken cancellationToken) =>
        await catalogue.GetBreachAsync(breach, cancellationToken)
        ?? throw new NotPossibleException($"there is no breach '{breach}'; see: hibp breach list");

    /// <summary>Returns the breach's loads, at least one, without those being removed.</summary>
    public async Task<IReadOnlyList<Load>> ListAsync(string breach, CancellationToken cancellationToken)
    {
        var all = await loads.ListLoadsAsync(breach, cancellationToken);
        if (all.Count == 0)
            throw new NotPossibleException($"there is no load of a breach '{breach}'; see: hibp status");
        var remaining = all.Where(load => !load.Removing).ToList();
        return remaining.Count > 0
            ? remaining
            : throw new NotPossibleException($"breach '{breach}' is being removed; run 'hibp breach remove' again to complete the removal");
    }
}
