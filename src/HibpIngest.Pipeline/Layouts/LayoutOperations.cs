namespace HibpIngest.Pipeline.Layouts;

/// <summary>
/// Changes the set of layouts: in the database first, then in the register, as the start of a host does again. So each operation can be
/// repeated after a failure.
/// </summary>
public sealed class LayoutOperations(
    IBreachDatabase database, IStoreRegister register, IStoreTables tables, StoreLayouts setup, TimeProvider time)
{
    /// <summary>Maximum length of a name: table names have at most 63 characters.</summary>
    public const int MaxNameLength = 55;

    private const string LockName = "layouts";

    private static readonly TimeSpan PollInterval = TimeSpan.FromSeconds(1);

    public async Task<IReadOnlyList<LayoutStatus>> ListAsync(CancellationToken cancellationToken)
    {
        var read = (await register.GetReadLayoutAsync(cancellationToken))?.Id;
        var all = new List<LayoutStatus>();
        foreach (var layout in (await database.GetLayoutsAsync(cancellationToken)).Layouts)
            all.Add(new LayoutStatus(layout, layout.Id == read, await database.CountMissingAsync(layout.Id, cancellationToken)));
        return all;
    }

    /// <summary>Adds a layout. Slices upserted from now on are written to it too; the caller must backfill earlier ones.</summary>
    /// <param name="name">Becomes part of its tables' names: lower-case letters and digits.</param>
    /// <param name="storageAccounts">Numbers of the store's storage accounts; their order matters.</param>
    /// <param name="spreadDomains">Domains that are spread over several partitions, with the number of partitions.</param>
    /// <exception cref="BadInputException">The layout is invalid.</exception>
    /// <exception cref="NotPossibleException">The name is taken, or was used before.</exception>
    public async Task<StoreLayout> AddAsync(
        string name, IReadOnlyList<int> storageAccounts, IReadOnlyDictionary<string, int> spreadDomains, RangesState ranges,
        CancellationToken cancellationToken)
    {
        if (name.Length is 0 or > MaxNameLength || name == StoreLayout.First.Name
            || !name.All(one => char.IsAsciiLetterLower(one) || char.IsAsciiDigit(one)))
        {
            throw new BadInputException(
                $"layout name: expected 1 to {MaxNameLength} lower-case letters and digits other than {StoreLayout.First.Name}, "
                + $"found '{name}'");
        }
        var facts = new LayoutFacts
        {
            AccountsTable = LayoutFacts.Accounts + name,
            RangesTable = LayoutFacts.Ranges + name,
            StorageAccounts = storageAccounts,
            SpreadDomains = spreadDomains,
        };
        if (facts.FindFault() is { } fault)
            throw new BadInputException($"layout {name} can't have {fault}");
        return await LockedAsync(
            async token =>
            {
                await setup.EnsureAsync(token);
                // A database that was put back to a backup may not know what the register does.
                var known = (await database.ListLayoutsAsync(token)).Concat(await register.ListLayoutsAsync(token)).ToList();
                if (known.Find(layout => layout.Name == name) is { } other)
                {
                    throw new NotPossibleException(other.IsDropped
                        ? $"layout {name} was dropped, and its name can't be reused: choose another"
                        : $"layout {name} already exists, number {other.Id}: choose another name");
                }
                var added = new StoreLayout { Id = known.Max(layout => layout.Id) + 1, Ranges = ranges, Facts = facts };
                await setup.CreateTablesAsync(added, token);
                await database.AddLayoutAsync(added, token);
                await register.PutLayoutAsync(added, token);
                return added;
            },
            cancellationToken);
    }

    /// <summary>Switches reads to a layout. The previous one is still written, so switching back is possible.</summary>
    /// <param name="withoutRanges">Allows a layout whose ranges are not on, even if those of the previous one are.</param>
    /// <returns>The layout that was read before.</returns>
    /// <exception cref="NotPossibleException">There is no such layout, it lacks rows or ranges, or its rebuild isn't complete.</exception>
    public Task<StoreLayout> SwitchAsync(string name, bool withoutRanges, CancellationToken cancellationToken) => LockedAsync(
        async token =>
        {
            await setup.EnsureAsync(token);
            var to = Find((await database.GetLayoutsAsync(token)).Layouts, name);
            var from = await register.GetReadLayoutAsync(token)
                ?? throw new NotPossibleException("the store has no layout that is read yet: 'hibp run' sets it up");
            if (await database.CountMissingAsync(to.Id, token) is > 0 and var missing)
            {
                throw new NotPossibleException(
                    $"layout {name} is missing {missing} rows of loads from before it was added: 'hibp layout rebuild --into {name}' "
                    + "writes them; then switch");
            }
            if (await database.GetRebuildAsync(to.Id, token) is not null)
            {
                throw new NotPossibleException($"a rebuild of layout {name} is not complete, and breaches removed meanwhile may "
                    + $"still be in it: wait for it, or run 'hibp layout rebuild --into {name}' again; then switch");
            }
            if (from.Ranges == RangesState.On && to.Ranges != RangesState.On && !withoutRanges)
            {
                throw new NotPossibleException(
                    $"ranges of layout {name} are {to.Ranges.ToString().ToLowerInvariant()}, but the current layout answers "
                    + $"requests for them: 'hibp ranges fill --layout {name}' turns them on; or switch with --without-ranges, and such "
                    + "requests get 503");
            }
            if (!await register.TrySwitchAsync(from.Id, to.Id, token))
            {
                throw new NotPossibleException(
                    "another process switched at the same time: check 'hibp layout list', and run this again if it is still needed");
            }
            return from;
        },
        cancellationToken);

    /// <summary>Removes a layout; deletes its tables once nothing uses them, at least <see cref="IReadLayout.SeenWithin"/> later.</summary>
    /// <exception cref="NotPossibleException">The layout is missing, read, or the only one that is written.</exception>
    public async Task DropAsync(string name, Action? onWaiting, CancellationToken cancellationToken)
    {
        var dropped = await LockedAsync(
            async token =>
            {
                await setup.EnsureAsync(token);
                var layout = Find(await database.ListLayoutsAsync(token), name);
                if ((await register.GetReadLayoutAsync(token))?.Id == layout.Id)
                    throw new NotPossibleException($"layout {name} is the one that is read: 'hibp layout switch' to another one first");
                if ((await database.DropLayoutAsync(layout.Id, token)).Layouts.Any(one => one.Id == layout.Id))
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

    // Waits for running slices, which may have begun with the previous set, and for readers that haven't seen the latest switch yet.
    private async Task WaitAsync(CancellationToken cancellationToken)
    {
        var began = time.GetTimestamp();
        var before = await ListAsync();
        while (before.Count > 0 || time.GetElapsedTime(began) < IReadLayout.SeenWithin)
        {
            await Task.Delay(PollInterval, time, cancellationToken);
            if (before.Count > 0)
                before.IntersectWith(await ListAsync());
        }

        // The owner differs for each attempt.
        async Task<HashSet<(LoadId Load, int? Slice, string Owner)>> ListAsync() =>
        [
            .. (await database.ListLeasesAsync(cancellationToken)).Where(work => work.Slice is not null)
                .Select(work => (work.Load, work.Slice, work.Owner)),
        ];
    }

    private static StoreLayout Find(IReadOnlyList<StoreLayout> all, string name) =>
        all.FirstOrDefault(layout => layout.Name == name)
        ?? throw new NotPossibleException($"there is no layout {name}; there are "
            + string.Join(", ", all.Where(layout => !layout.IsDropped).Select(layout => layout.Name)));

    internal Task EnsureAsync(CancellationToken cancellationToken) => setup.EnsureAsync(cancellationToken);

    internal async Task<StoreLayout> AddAsync(RebuildOrder order, CancellationToken cancellationToken)
    {
        var read = await register.GetReadLayoutAsync(cancellationToken)
            ?? throw new NotPossibleException("the store has no layout that is read yet: 'hibp run' sets it up");
        var ranges = order.Ranges ?? read.Ranges == RangesState.On;
        return await AddAsync(
            order.Name, order.StorageAccounts ?? read.Facts.StorageAccounts, order.SpreadDomains ?? new Dictionary<string, int>(),
            ranges ? RangesState.On : RangesState.Off, cancellationToken);
    }

    /// <summary>Runs one change at a time: each relies on the set that it has read.</summary>
    private Task<T> LockedAsync<T>(Func<CancellationToken, Task<T>> change, CancellationToken cancellationToken) => RenewingLock.RunAsync(
        database, LockName, "another change of the layouts is in progress: run it again in a minute", time, change, cancellationToken);
}

/// <param name="MissingRows">Rows of loads that are not in it yet; 0: it may be read.</param>
public sealed record LayoutStatus(StoreLayout Layout, bool IsRead, long MissingRows);
