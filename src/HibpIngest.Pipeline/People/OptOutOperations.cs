using HibpIngest.Pipeline.Subscribers;

namespace HibpIngest.Pipeline.People;

/// <summary>
/// Hides addresses from readers. The register is changed first: whatever is written of a layout later applies it from there. Idempotent.
/// </summary>
public sealed class OptOutOperations(IOptOuts register, ILayouts layouts, IStoreTables tables, SubscriberOperations subscribers)
{
    /// <summary>Hides an address in every layout, or shows it again; hidden from all, it also loses its subscriptions.</summary>
    /// <exception cref="NotPossibleException">Hiding from all needs HIBP_SUPPRESSION_KEY, which is not set.</exception>
    public async Task SetAsync(OptOut optOut, CancellationToken cancellationToken)
    {
        if (optOut.Level == OptOutLevel.All)
            subscribers.RequireKey();
        await register.PutOptOutAsync(optOut, cancellationToken);
        foreach (var layout in (await layouts.GetLayoutsAsync(cancellationToken)).Written)
            await WriteAsync(layout, optOut, cancellationToken);
        // Last: it deletes the request by which a repeated command finds the address.
        if (optOut.Level == OptOutLevel.All)
            await subscribers.RemoveAsync([optOut.Account.Address], [], SuppressionReason.Unsubscribed, cancellationToken);
    }

    internal async Task ApplyAsync(StoreLayout layout, CancellationToken cancellationToken)
    {
        await foreach (var optOut in register.ListOptOutsAsync(cancellationToken))
            await WriteAsync(layout, optOut, cancellationToken);
    }

    private async Task WriteAsync(StoreLayout layout, OptOut optOut, CancellationToken cancellationToken)
    {
        var (account, facts, placement) = (optOut.Account, layout.Facts, new LayoutPlacement(layout.Facts));
        var place = placement.Find(account);
        await tables.Accounts(new TablePlace(place.StorageAccount, facts.AccountsTable)).PutOptOutAsync(
            place.Partition, account.Alias, optOut.Level, cancellationToken);
        if (!layout.WritesRanges)
            return;
        var (partition, row) = RangeKeys.Of(Encoding.ASCII.GetBytes(account.Alias), Encoding.ASCII.GetBytes(account.Domain));
        await tables.Ranges(RangeKeys.PlaceOf(partition, facts, placement)).PutOptOutAsync(partition, row, optOut.Level, cancellationToken);
    }
}
