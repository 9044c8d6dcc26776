namespace HibpIngest.Pipeline.Setup;

/// <summary>
/// Makes database and register agree on the layouts, and creates their tables. Each takes from the other what it lacks because a change was
/// interrupted between the two or the database was restored from a backup. The higher state of ranges is valid: a store reaches a state
/// only once it has all the data for it.
/// </summary>
public sealed class StoreLayouts(ILayouts database, IStoreRegister register, IStoreTables tables, IOptions<UpsertOptions> options)
{
    public async Task EnsureAsync(CancellationToken cancellationToken)
    {
        var registered = await register.ListLayoutsAsync(cancellationToken);
        var set = await database.GetLayoutsAsync(cancellationToken);
        if (set.Layouts.Count == 0)
        {
            var first = registered.FirstOrDefault(layout => !layout.IsDropped)
                ?? StoreLayout.First with { Ranges = options.Value.Ranges == RangesMode.On ? RangesState.On : RangesState.Off };
            set = await database.AddFirstLayoutAsync(first, isFromRegister: registered.Count > 0, cancellationToken);
        }
        var known = await database.ListLayoutsAsync(cancellationToken);
        // Additions before removals: the set must never be empty.
        foreach (var layout in registered.Where(one => !one.IsDropped && known.All(other => other.Id != one.Id)))
            set = await database.AddLayoutAsync(layout, cancellationToken);
        foreach (var layout in registered.Where(one => one.IsDropped))
            set = await database.DropLayoutAsync(layout.Id, cancellationToken);
        foreach (var layout in registered.Where(one => set.Layouts.Any(other => other.Id == one.Id && other.Ranges < one.Ranges)))
            set = await database.RaiseRangesAsync(layout.Id, layout.Ranges, cancellationToken);
        set.RequireKnown();
        foreach (var layout in await database.ListLayoutsAsync(cancellationToken))
        {
            if (!layout.IsDropped)
                await CreateTablesAsync(layout, cancellationToken);
            await register.PutLayoutAsync(layout, cancellationToken);
        }
        await register.AddReadLayoutAsync(set.Layouts[0].Id, cancellationToken);
    }

    // The tables of ranges even if they are off, for a later backfill.
    public async Task CreateTablesAsync(StoreLayout layout, CancellationToken cancellationToken)
    {
        foreach (var account in layout.Facts.StorageAccounts)
        {
            await tables.Accounts(new TablePlace(account, layout.Facts.AccountsTable)).CreateAsync(cancellationToken);
            await tables.Ranges(new TablePlace(account, layout.Facts.RangesTable)).CreateAsync(cancellationToken);
        }
    }
}
