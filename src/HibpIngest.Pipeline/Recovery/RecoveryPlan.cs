namespace HibpIngest.Pipeline.Recovery;

/// <summary>
/// The loads that a database should have according to the journal. Documents are untrusted, and checked against each other.
/// </summary>
internal sealed class RecoveryPlan
{
    public List<PlannedLoad> Loads { get; } = [];

    public List<JournaledLoad> Removed { get; } = [];

    /// <summary>Maps replaced loads to the loads that were published in their place.</summary>
    public IReadOnlyDictionary<LoadId, LoadId> Replaced { get; private set; } = new Dictionary<LoadId, LoadId>();

    /// <summary>Folders of loads without a document: nothing says that they are current.</summary>
    public List<string> Incomplete { get; } = [];

    public List<string> Problems { get; } = [];

    public HashSet<Guid> Stores { get; } = [];

    public StoreIds Highest { get; private set; } = new(0, 0);

    public static RecoveryPlan Of(JournalManifest manifest, Guid? store)
    {
        var plan = new RecoveryPlan();
        foreach (var load in manifest.Loads.Where(load => JournalNames.IsFolder(load.Folder)))
            plan.Add(load, store);
        plan.CompleteRemovals();
        plan.DropConflicts();
        plan.Replaced = plan.Loads.SelectMany(load => load.Document.Replaces.Select(old => (old, by: load.Id)))
            .Concat(plan.Removed.SelectMany(load =>
                (load.Removal?.Replaces ?? load.Document?.Replaces ?? []).Select(old => (old, by: JournalNames.LoadOf(load.Folder)))))
            .GroupBy(pair => new LoadId(pair.old), pair => pair.by).ToDictionary(group => group.Key, group => group.MaxBy(id => id.Value));
        plan.DescribeBreaches();
        return plan;
    }

    public static RecoveryPlan Empty { get; } = new();

    public IEnumerable<BlobVersion> RemovedBlobs() =>
        Removed.SelectMany(load => load.Removal?.Loads is { } together
            ? together.Select(one => new BlobVersion(one.Blob, one.ETag))
            : load.Document is { } document ? [new BlobVersion(document.Blob, document.ETag)] : []).Distinct();

    /// <summary>Completes removals whose first document was written but not the others: those loads are removed too.</summary>
    private void CompleteRemovals()
    {
        var together = Removed.SelectMany(load => load.Removal?.Loads ?? []).Select(one => new LoadId(one.Load)).ToHashSet();
        foreach (var load in Loads.Where(load => together.Contains(load.Id)).ToList())
        {
            Loads.Remove(load);
            Removed.Add(load.Journaled);
        }
        Incomplete.RemoveAll(folder => together.Contains(JournalNames.LoadOf(folder)));
    }

    private void Add(JournaledLoad load, Guid? store)
    {
        var number = JournalNames.LoadOf(load.Folder).Value;
        if (load.Fault is { } fault)
            Problems.Add(fault);
        if (number is < 1 or > DocumentLimits.MaxId)
        {
            Problems.Add($"folder '{load.Folder}' of the journal belongs to no load: move it away");
            return;
        }
        var (id, owner, mark) = load.Removal is { } removal ? (removal.Load, removal.Store, removal.Mark)
            : load.Document is { } document ? (document.Load, document.Store, document.Mark) : (number, store ?? Guid.Empty, 0);
        if (id != number || (load.State == JournaledState.Counts && JournalNames.Folder(load.Document!) != load.Folder))
        {
            Problems.Add($"folder '{load.Folder}' of the journal has documents of another load: move it away");
            return;
        }
        if (load.Removal is not null || load.Document is not null)
        {
            if (store is not null && owner != store)
            {
                Problems.Add($"folder '{load.Folder}' of the journal belongs to another store ({owner}) than this ({store}): move it "
                    + "away, or name this store's journal in HIBP_JOURNAL_STORAGE");
                return;
            }
            Stores.Add(owner);
        }
        Highest = new StoreIds(Math.Max(Highest.Load, number), Math.Max(Highest.Mark, mark));
        if (load.State == JournaledState.Removed)
            Removed.Add(load);
        else if (load.Document is not null)
            AddDocument(load);
        else if (load.Fault is null)
            Incomplete.Add(load.Folder);
    }

    private void AddDocument(JournaledLoad load)
    {
        try
        {
            var metadata = load.Document!.Metadata is { ValueKind: JsonValueKind.Object } json
                ? BreachMetadata.Parse(Encoding.UTF8.GetBytes(json.GetRawText())) : new BreachMetadata();
            Loads.Add(new PlannedLoad(load, metadata));
        }
        catch (BadInputException e)
        {
            Problems.Add($"folder '{load.Folder}' of the journal: {e.Message}");
        }
    }

    /// <summary>Drops loads that share a value that must be unique: none of them is trusted.</summary>
    private void DropConflicts()
    {
        var dropped = new HashSet<PlannedLoad>();
        Drop(load => load.Id, (_, _) => true, "number");
        // Loads of one breach may share a mark if the store was upgraded from schema 1.
        Drop(load => load.Document.Mark, (one, other) => !IsSameBreach(one, other), "mark");
        Drop(load => (load.Document.Blob, load.Document.ETag, load.Document.Generation), (_, _) => true, "version of an archive");
        Loads.RemoveAll(dropped.Contains);
        Loads.Sort((one, other) => one.Id.Value.CompareTo(other.Id.Value));

        void Drop<T>(Func<PlannedLoad, T> key, Func<PlannedLoad, PlannedLoad, bool> differ, string what)
        {
            foreach (var same in Loads.GroupBy(key).Select(group => group.ToList()))
            {
                if (!same.Exists(load => differ(load, same[0]) && load != same[0]))
                    continue;
                dropped.UnionWith(same);
                Problems.Add($"folders {string.Join(" and ", same.Select(load => $"'{load.Journaled.Folder}'"))} of the journal have the "
                    + $"same {what}: move away the folders of other stores");
            }
        }
    }

    private static bool IsSameBreach(PlannedLoad one, PlannedLoad other) =>
        one.Document.Breach.Equals(other.Document.Breach, StringComparison.OrdinalIgnoreCase);

    private void DescribeBreaches()
    {
        foreach (var breach in Loads.GroupBy(load => load.Document.Breach, StringComparer.OrdinalIgnoreCase))
        {
            var newest = breach.MaxBy(load => load.Document.Version)!;
            // The unreadable document may have hidden the breach.
            var unread = breach.Max(load => load.Journaled.Fault is null ? -1 : load.Journaled.FaultVersion);
            var isReported = newest.Document.IsReported && unread < newest.Document.Version;
            var recovery = new BreachRecovery
            {
                Name = newest.Document.Breach,
                Metadata = newest.Metadata,
                Hidden = newest.Document.Hidden || !isReported,
                PublishedAt = newest.Document.BreachPublishedAt,
                ModifiedAt = newest.Document.ModifiedAt,
                Version = Math.Min(Math.Max(newest.Document.Version, unread), DocumentLimits.MaxVersion),
                IsReported = isReported,
            };
            foreach (var load in breach)
                load.Breach = recovery;
        }
    }
}

internal sealed record PlannedLoad(JournaledLoad Journaled, BreachMetadata Metadata)
{
    public JournalLoadDocument Document => Journaled.Document!;

    public LoadId Id => new(Document.Load);

    /// <summary>The breach's details in the newest document of any of its loads.</summary>
    public BreachRecovery Breach { get; set; } = null!;
}
