namespace HibpIngest.Api.Lookup;

internal sealed partial class ReadLayoutCache(IReadLayout register, IStoreAccounts accounts, TimeProvider time, ILogger<LayoutReads> log)
    : RefreshingValue<ReadLayoutCache.Current>(RevalidateEvery, ReadTimeout, time)
{
    // A switch is rare, and both layouts are right until every reader has seen it; but see IReadLayout.SeenWithin.
    private static readonly TimeSpan RevalidateEvery = TimeSpan.FromSeconds(10);
    private static readonly TimeSpan ReadTimeout = TimeSpan.FromSeconds(5);

    protected override async Task<Current> ReadAsync(Current? known, CancellationToken cancellationToken)
    {
        // Null in a store from before layouts existed, on which no newer program has been started.
        var layout = await register.GetReadLayoutAsync(cancellationToken) ?? StoreLayout.First;
        if (layout == known?.Layout)
            return known;
        await RequireAccountsAsync(layout, cancellationToken);
        return new Current(layout, new LayoutPlacement(layout.Facts));
    }

    /// <summary>Throws if a storage account isn't the one that the layout names: reads would find no account.</summary>
    private async Task RequireAccountsAsync(StoreLayout layout, CancellationToken cancellationToken)
    {
        if (layout.Facts.StorageAccounts is [1])
            return;
        var first = await accounts.FindAsync(1, cancellationToken);
        foreach (var number in layout.Facts.StorageAccounts)
        {
            var found = number <= accounts.Count ? await accounts.FindAsync(number, cancellationToken) : null;
            if (found is null || found.Number != number || found.Store != first?.Store)
            {
                throw new StoreMismatchException($"layout {layout.Name} lies in storage account {number} of the store, and this process "
                    + $"knows {accounts.Count}, or knows another by that number: name them in their order (HIBP_STORAGE, HIBP_STORAGE_2, "
                    + "and so on)");
            }
        }
    }

    protected override StoreUnavailableException NotRead() => new("which layout is read has not been found out yet");

    protected override void OnDown(string reason) => LogDown(reason);

    protected override void OnUp(Current value) => LogUp(value.Layout.Name);

    [LoggerMessage(
        EventIds.LayoutReadsDown, LogLevel.Warning, "read layout: register can't be read, reading the last known layout: {Reason}")]
    private partial void LogDown(string reason);

    [LoggerMessage(EventIds.LayoutReadsUp, LogLevel.Warning, "read layout: register readable again (layout {Layout})")]
    private partial void LogUp(string layout);

    internal sealed record Current(StoreLayout Layout, LayoutPlacement Placement);
}
