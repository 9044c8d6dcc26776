namespace HibpIngest.Pipeline.Callbacks;

/// <summary>Estimates the calls that a breach causes, before the first call, by looking through its slices as the stage does.</summary>
public sealed class PreviewCalls(
    ILoads loads, ISlices slices, ICatalogue catalogue, JournaledRows rows, ICallbacks callbacks, ICallbackClients clients,
    WatchedPrefixes watched)
{
    // A million rows by default, which take some seconds. Larger loads are extrapolated from slices spread evenly over them.
    private const int MaxSlices = 100;

    /// <summary>Returns an estimate for each client that would be called, by name; counts loads that are held or that send.</summary>
    /// <exception cref="NotPossibleException">There is no such breach.</exception>
    public async Task<IReadOnlyList<CallEstimate>> RunAsync(string breach, CancellationToken cancellationToken)
    {
        var found = await catalogue.GetBreachAsync(breach, cancellationToken)
            ?? throw new NotPossibleException($"there is no breach '{breach}'; see: hibp status");
        var called = (await clients.ListAsync(cancellationToken)).Where(client => client.IsCalledOf(found.Metadata.Flags)).ToList();
        if (called.Count == 0)
            return [];
        var calls = called.ToDictionary(client => client.Number, _ => 0.0);
        var isExact = true;
        foreach (var load in await loads.ListLoadsAsync(found.Name, cancellationToken))
        {
            if (load is { PublishedAt: not null, Calls.IsSearched: false })
                isExact &= await LookThroughAsync(load, called, calls, cancellationToken);
        }
        var health = (await callbacks.ListCallbackHealthAsync(TimeSpan.Zero, cancellationToken)).ToDictionary(one => one.Client);
        return [.. called.Where(client => calls[client.Number] > 0).Select(client => new CallEstimate(
            client, (long)Math.Round(calls[client.Number]), isExact,
            health.GetValueOrDefault(client.Number)?.CallTime ?? CallEstimate.UsualCallTime))];
    }

    /// <returns>True if every slice was searched.</returns>
    private async Task<bool> LookThroughAsync(
        Load load, IReadOnlyList<CallbackClient> called, Dictionary<int, double> calls, CancellationToken cancellationToken)
    {
        var all = await slices.ListSlicesAsync(load.Id, failedOnly: false, cancellationToken);
        var chosen = all.Count <= MaxSlices
            ? all : [.. Enumerable.Range(0, MaxSlices).Select(i => all[(int)((long)i * all.Count / MaxSlices)])];
        var part = all.Sum(slice => (double)slice.Count) / chosen.Sum(slice => (double)slice.Count);
        foreach (var slice in chosen)
        {
            using var accounts = HashedAccounts.Rent(slice.Count);
            await rows.ReadAsync(slice, load.Mark, load.Purged, accounts.Accounts, cancellationToken);
            accounts.Hash();
            foreach (var client in called)
            {
                if (await watched.GetAsync(client.Number, cancellationToken) is { } bitmap)
                    calls[client.Number] += part * CallList.CountOf(accounts.Find(bitmap, filter: null));
            }
        }
        return chosen.Count == all.Count;
    }
}

/// <param name="IsExact">True if every slice was searched; false: extrapolated from some of them.</param>
public sealed record CallEstimate(CallbackClient Client, long Calls, bool IsExact, TimeSpan CallTime)
{
    /// <summary>Assumed time for one call to a client that has not been called yet.</summary>
    public static readonly TimeSpan UsualCallTime = TimeSpan.FromMilliseconds(100);

    /// <summary>Time for all calls at the client's cap, if it accepts each of them.</summary>
    public TimeSpan Duration => CallTime * Calls / Client.Cap;
}
