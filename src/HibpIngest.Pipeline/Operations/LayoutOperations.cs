using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>
/// What an operator does to the set of layouts: the database first, then the register, as at every start
/// (<see cref="StoreSetup"/>). Each may be run again, and goes on where it was.
/// </summary>
public sealed class LayoutOperations(
    StoreSetup setup, ILayouts layouts, IRebuilds rebuilds, ILayoutRegister register, ISlices slices, INamedLocks locks,
    IStoreTables tables, TimeProvider time)
{
    /// <summary>Most characters of a name: tables' have 63.</summary>
    public const int MaxNameLength = 55;

    private const string LockName = "layouts";

    private static readonly TimeSpan LookEvery = TimeSpan.FromSeconds(1);

    /// <summary>The layouts that are written, by id.</summary>
    public async Task<IReadOnlyList<LayoutStatus>> ListAsync(CancellationToken cancellationToken)
    {
        var read = (await register.GetReadLayoutAsync(cancellationToken))?.Id;
        var all = new List<LayoutStatus>();
        foreach (var layout in (await layouts.GetLayoutsAsync(cancellationToken)).Layouts)
            all.Add(new LayoutStatus(layout, layout.Id == read, await layouts.CountMissingAsync(layout.Id, cancellationToken)));
        return all;
    }

    /// <summary>
    /// Adds a layout: every slice that is done behind this is written in it, and what was done before is to be
    /// written by whoever adds it (<see cref="ILayouts.SetReplayedAsync"/>).
    /// </summary>
    /// <param name="name">Its tables are named by it: lower-case letters and digits.</param>
    /// <param name="storageAccounts">Numbers of the store's storage accounts, in the order that counts.</param>
    /// <param name="spreadDomains">Domains that lie in several partitions, and in how many.</param>
    /// <param name="ranges">On where whoever fills it writes hashes too.</param>
    /// <exception cref="BadInputException">No layout can be so.</exception>
    /// <exception cref="NotPossibleException">There is one of that name, or was.</exception>
    public async Task<StoreLayout> AddAsync(
        string name, IReadOnlyList<int> storageAccounts, IReadOnlyDictionary<string, int> spreadDomains, RangesState ranges,
        CancellationToken cancellationToken)
    {
        if (name.Length is 0 or > MaxNameLength || name == StoreLayout.First.Name
            || !name.All(one => char.IsAsciiLetterLower(one) || char.IsAsciiDigit(one)))
        {
            throw new BadInputException(
                $"a layout's name is 1 to {MaxNameLength} lower-case letters and digits, and not {StoreLayout.First.Name}");
        }
        var facts = new LayoutFacts
        {
            AccountsTable = LayoutFacts.Accounts + name,
            RangesTable = LayoutFacts.Ranges + name,
            StorageAccounts = storageAccounts,
            SpreadDomains = spreadDomains,
        };
        if (facts.FindFault() is { } fault)
            throw new BadInputException($"layout {name} would be one of {fault}");
        return await LockedAsync(
            async token =>
            {
                await setup.EnsureLayoutsAsync(token);
                // A database that was put back to a backup may not know what the register does.
                var known = (await layouts.ListLayoutsAsync(token))
                    .Concat(await register.ListLayoutsAsync(token)).ToList();
                if (known.Find(layout => layout.Name == name) is { } other)
                {
                    throw new NotPossibleException(other.IsDropped
                        ? $"layout {name} was dropped, and no name is given twice: choose another"
                        : $"there is a layout {name} already, number {other.Id}: choose another name");
                }
                var added = new StoreLayout { Id = known.Max(layout => layout.Id) + 1, Ranges = ranges, Facts = facts };
                await setup.CreateTablesAsync(added, token);
                await layouts.AddLayoutAsync(added, token);
                await register.PutLayoutAsync(added, token);
                return added;
            },
            cancellationToken);
    }

    /// <summary>Has a layout read from now on. The one before stays written, so that switching back is right.</summary>
    /// <param name="withoutRanges">It may be one whose ranges are not on, where those of the one before are.</param>
    /// <returns>The layout that was read before.</returns>
    /// <exception cref="NotPossibleException">There is none of that name; it lacks rows, or ranges.</exception>
    public Task<StoreLayout> SwitchAsync(string name, bool withoutRanges, CancellationToken cancellationToken) => LockedAsync(
        async token =>
        {
            await setup.EnsureLayoutsAsync(token);
            var to = Find((await layouts.GetLayoutsAsync(token)).Layouts, name);
            var from = await register.GetReadLayoutAsync(token)
                ?? throw new NotPossibleException("the store has no layout that is read yet: 'hibp run' sets it up");
            if (await layouts.CountMissingAsync(to.Id, token) is > 0 and var missing)
            {
                throw new NotPossibleException(
                    $"layout {name} lacks {missing} rows of loads from before it was added: 'hibp rebuild --into {name}' writes them; "
                    + "then switch");
            }
            if (await rebuilds.GetRebuildAsync(to.Id, token) is not null)
            {
                throw new NotPossibleException($"a rebuild of layout {name} has not come to its end, and what was removed meanwhile may "
                    + $"be in it: wait for it, or run 'hibp rebuild --into {name}' again; then switch");
            }
            if (from.Ranges == RangesState.On && to.Ranges != RangesState.On && !withoutRanges)
            {
                throw new NotPossibleException(
                    $"ranges of layout {name} are {to.Ranges.ToString().ToLowerInvariant()}, and are answered now: 'hibp ranges fill "
                    + $"--layout {name}' turns them on; or switch with --without-ranges, and they are answered 503");
            }
            if (!await register.TrySwitchAsync(from.Id, to.Id, token))
            {
                throw new NotPossibleException(
                    "somebody else has just switched: see 'hibp layouts', and run it again if it is still wanted");
            }
            return from;
        },
        cancellationToken);

    /// <summary>
    /// Takes a layout out of the set, and deletes its tables once nobody writes or reads them any more: a minute
    /// later, or as long as a slice takes that had begun before.
    /// </summary>
    /// <param name="onWaiting">Told when it begins to wait.</param>
    /// <param name="cancellationToken">Stops it; run again, it goes on.</param>
    /// <exception cref="NotPossibleException">There is none of that name; it is the one that is read.</exception>
    public async Task DropAsync(string name, Action? onWaiting, CancellationToken cancellationToken)
    {
        var dropped = await LockedAsync(
            async token =>
            {
                await setup.EnsureLayoutsAsync(token);
                var layout = Find(await layouts.ListLayoutsAsync(token), name);
                if ((await register.GetReadLayoutAsync(token))?.Id == layout.Id)
                    throw new NotPossibleException($"layout {name} is the one that is read: 'hibp switch' to another one first");
                if ((await layouts.DropLayoutAsync(layout.Id, token)).Layouts.Any(one => one.Id == layout.Id))
                    throw new NotPossibleException($"layout {name} is the only one that is written: add another one first");
                await register.PutLayoutAsync(layout with { IsDropped = true }, token);
                return layout;
            },
            cancellationToken);
        onWaiting?.Invoke();
        await WaitAsync(cancellationToken);
        foreach (var account in dropped.Facts.StorageAccounts)
        {
            await tables.Accounts(new TablePlace(account, dropped.Facts.AccountsTable)).DropAsync(cancellationToken);
            await tables.Ranges(new TablePlace(account, dropped.Facts.RangesTable)).DropAsync(cancellationToken);
        }
    }

    /// <summary>
    /// Until no slice writes that had begun before, whose set may have been the older one, and no reader goes by
    /// what a switch shortly before this has ended.
    /// </summary>
    private async Task WaitAsync(CancellationToken cancellationToken)
    {
        var began = time.GetTimestamp();
        var before = (await slices.ListHeldSlicesAsync(cancellationToken)).ToHashSet();
        while (before.Count > 0 || time.GetElapsedTime(began) < IReadLayout.SeenWithin)
        {
            await Task.Delay(LookEvery, time, cancellationToken);
            if (before.Count > 0)
                before.IntersectWith(await slices.ListHeldSlicesAsync(cancellationToken));
        }
    }

    private static StoreLayout Find(IReadOnlyList<StoreLayout> all, string name) =>
        all.FirstOrDefault(layout => layout.Name == name)
        ?? throw new NotPossibleException($"there is no layout {name}; there are "
            + string.Join(", ", all.Where(layout => !layout.IsDropped).Select(layout => layout.Name)));

    /// <summary>One at a time: what one has seen of the set, another one would change.</summary>
    private Task<T> LockedAsync<T>(Func<CancellationToken, Task<T>> change, CancellationToken cancellationToken) => RenewingLock.RunAsync(
        locks, LockName, "another change of the layouts is under way: run it again in a minute", time, change, cancellationToken);
}
