using System.Runtime.CompilerServices;

namespace HibpIngest.Api.Lookup;

/// <summary>
/// Reads accounts and ranges from the current read layout, which is revalidated every few seconds. Each response comes from one layout,
/// even if reads are switched meanwhile.
/// </summary>
/// <param name="accounts">Used to check that each storage account has the number by which the layout names it.</param>
/// <param name="log">Receives a warning when the register can't be read.</param>
public sealed class LayoutReads(
    IReadLayout register, IStorageAccounts accounts, IStoreTables tables, TimeProvider time, ILogger<LayoutReads> log)
    : IAccountReads, IRangeReads
{
    private readonly ReadLayoutCache _current = new(register, accounts, time, log);

    public Task RunAsync(CancellationToken cancellationToken) => _current.RunAsync(cancellationToken);

    public async Task<IReadOnlyList<int>> GetMarksAsync(Account account, int highestMark, CancellationToken cancellationToken)
    {
        var (layout, placement) = await _current.GetAsync(cancellationToken);
        return await tables.GetMarksAsync(layout.Facts, placement, account, highestMark, cancellationToken);
    }

    public async IAsyncEnumerable<AccountEntry> ReadDomainAsync(
        string domain, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        var (layout, placement) = await _current.GetAsync(cancellationToken);
        foreach (var place in placement.FindAll(domain))
        {
            await foreach (var entry in AccountsOf(layout, place).ReadDomainAsync(place.Partition, cancellationToken))
                yield return entry;
        }
    }

    public async Task<bool> HasMoreAccountsAsync(string domain, int than, CancellationToken cancellationToken)
    {
        var (layout, placement) = await _current.GetAsync(cancellationToken);
        if (placement.FindAll(domain) is [var only])
            return await AccountsOf(layout, only).HasMoreAccountsAsync(domain, than, cancellationToken);
        var count = 0;
        await foreach (var _ in ReadDomainAsync(domain, cancellationToken))
        {
            if (++count > than)
                return true;
        }
        return false;
    }

    /// <summary>Returns whether the layout's table of hashes holds every account.</summary>
    public async Task<bool> HasRangesAsync(CancellationToken cancellationToken) =>
        (await _current.GetAsync(cancellationToken)).Layout.Ranges == RangesState.On;

    /// <inheritdoc/>
    /// <exception cref="RangesNotReadyException">The layout's table of hashes doesn't hold every account yet.</exception>
    public async Task<IReadOnlyList<RangeEntry>> ReadRangeAsync(string prefix, CancellationToken cancellationToken)
    {
        var (layout, placement) = await _current.GetAsync(cancellationToken);
        if (layout.Ranges != RangesState.On)
            throw new RangesNotReadyException();
        var account = placement.StorageAccountOfRange(Convert.FromHexString(prefix.AsSpan(0, 2))[0]);
        return await tables.RangeReads(new TablePlace(account, layout.Facts.RangesTable)).ReadRangeAsync(prefix, cancellationToken);
    }

    private IAccountReads AccountsOf(StoreLayout layout, PartitionPlace place) =>
        tables.AccountReads(new TablePlace(place.StorageAccount, layout.Facts.AccountsTable));
}

internal sealed partial class ReadLayoutCache(IReadLayout register, IStorageAccounts accounts, TimeProvider time, ILogger<LayoutReads> log)
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
                throw new StoreMismatchException($"layout {layout.Name} is in storage account {number} of the store, but this process "
                    + $"knows {accounts.Count}, or another one by that number: name them in their order (HIBP_STORAGE, HIBP_STORAGE_2, "
                    + "and so on)");
            }
        }
    }

    protected override UnavailableException NotRead() => new("the layout that is read is not known yet");

    protected override void OnDown(string reason) => LogDown(reason);

    protected override void OnUp(Current value) => LogUp(value.Layout.Name);

    [LoggerMessage(
        EventIds.LayoutReadsDown, LogLevel.Warning, "read layout: register can't be read, reading the last known layout: {Reason}")]
    private partial void LogDown(string reason);

    [LoggerMessage(EventIds.LayoutReadsUp, LogLevel.Warning, "read layout: register readable again (layout {Layout})")]
    private partial void LogUp(string layout);

    internal sealed record Current(StoreLayout Layout, LayoutPlacement Placement);
}
