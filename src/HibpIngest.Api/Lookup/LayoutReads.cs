using System.Runtime.CompilerServices;

namespace HibpIngest.Api.Lookup;

/// <summary>
/// Reads accounts and ranges from the current read layout, which is revalidated every few seconds. Each response comes from one layout,
/// even if reads are switched meanwhile.
/// </summary>
/// <param name="accounts">Used to check that each storage account has the number by which the layout names it.</param>
/// <param name="log">Receives a warning when the register can't be read.</param>
public sealed class LayoutReads(
    IReadLayout register, IStoreAccounts accounts, IStoreTables tables, TimeProvider time, ILogger<LayoutReads> log)
    : IAccountReads, IRangeReads
{
    private readonly ReadLayoutCache _current = new(register, accounts, time, log);

    public Task RunAsync(CancellationToken cancellationToken) => _current.RunAsync(cancellationToken);

    public async Task<IReadOnlyList<int>> GetMarksAsync(string domain, string alias, int highestMark, CancellationToken cancellationToken)
    {
        var (layout, placement) = await _current.GetAsync(cancellationToken);
        var place = placement.Find(alias, domain);
        return await AccountsOf(layout, place).GetMarksAsync(place.Partition, alias, highestMark, cancellationToken);
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
