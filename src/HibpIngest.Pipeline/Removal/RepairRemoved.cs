using HibpIngest.Pipeline.Layouts;

namespace HibpIngest.Pipeline.Removal;

/// <summary>
/// Deletes what is left of loads that are removed according to the journal and missing in the database: their marks in the tables of all
/// written layouts, hashes included, and their blobs in the journal. Idempotency key: the load's folder. Marks go before blobs, so that an
/// interrupted run finds the same folders again; a second run changes nothing.
/// </summary>
public sealed class RepairRemoved(
    IJournalBlobs blobs, ILoads loads, ILayouts layouts, IDatabaseState database, LayoutChanges changes,
    IOptions<UpsertOptions> options, TimeProvider time)
{
    /// <summary>Finds what to repair. Changes nothing.</summary>
    /// <param name="all">Includes loads without blobs: their marks may be left nevertheless.</param>
    public async Task<JournalRepairPlan> PlanAsync(bool all, CancellationToken cancellationToken)
    {
        var store = (await database.GetIdentityAsync(cancellationToken))?.Id;
        // The journal is read before the loads: a removal that ends in between leaves its load in neither, and is found by the next run.
        var manifest = await JournalManifest.ReadAsync(blobs, cancellationToken);
        var known = (await loads.ListLoadsAsync(null, cancellationToken)).ToDictionary(load => load.Id);
        // A mark is never reused; loads of a store that was upgraded from schema 1 may share one.
        var alive = known.Values.Select(load => load.Mark).ToHashSet();
        var (removed, skipped) = (new List<JournalRepairLoad>(), new List<string>());
        foreach (var load in manifest.Loads.Where(load => load.Removal is not null && (all || load.Blobs.Count > 1)))
        {
            var removal = load.Removal!;
            if (removal.Store != store)
            {
                skipped.Add($"folder '{load.Folder}' is of another store");
            }
            else if (known.GetValueOrDefault(new(removal.Load)) is { } there)
            {
                skipped.Add(there.Removing
                    ? $"load {there.Id} of {there.Breach} is being removed: 'hibp breach remove {there.Breach}' completes that"
                    : $"load {there.Id} of {there.Breach} is removed in the journal, but the database has it (was it restored from a "
                        + $"backup?): 'hibp breach remove {there.Breach}' removes it again");
            }
            else
            {
                removed.Add(new JournalRepairLoad(
                    load.Folder, new(removal.Load), alive.Contains(removal.Mark) ? 0 : removal.Mark,
                    load.Blobs.Count(blob => blob.Name != load.Folder + JournalNames.Removed)));
            }
        }
        return new JournalRepairPlan(removed, skipped);
    }

    public async Task<JournalRepaired> RunAsync(JournalRepairPlan plan, IProgress<string>? progress, CancellationToken cancellationToken)
    {
        var set = await layouts.GetLayoutsAsync(cancellationToken);
        set.RequireKnown();
        var (changed, deleted, done) = (0L, 0L, 0);
        foreach (var load in plan.Loads)
        {
            done++;
            var what = $"load {load.Load} ({done} of {plan.Loads.Count})";
            if (load.Mark > 0)
                changed += await RemoveMarkAsync(load.Mark, set.Written, what, progress, cancellationToken);
            progress?.Report($"{what}: deleting {load.Blobs} blobs");
            await WriteJournal.DeleteAsync(blobs, load.Folder, cancellationToken);
            deleted += load.Blobs;
        }
        return new JournalRepaired(plan.Loads.Count, deleted, changed);
    }

    private async Task<long> RemoveMarkAsync(
        int mark, IReadOnlyList<StoreLayout> written, string what, IProgress<string>? progress, CancellationToken cancellationToken)
    {
        var parts = written.SelectMany(layout => TablePart.Of(layout.Facts, layout.WritesRanges)).ToList();
        var (changed, scanned) = (0L, 0);
        var retry = TableRetry.Create((reason, pause) => progress?.Report($"{what}: waiting {pause.TotalSeconds:0} s: {reason}"), time);
        await Parallel.ForEachAsync(parts, TablePart.InParallel(options.Value, cancellationToken), async (part, token) =>
        {
            Interlocked.Add(ref changed, await changes.RemoveAsync(mark, part, retry, token));
            progress?.Report(
                $"{what}: {Interlocked.Increment(ref scanned)} of {parts.Count} parts of the tables completed, "
                + $"{Interlocked.Read(ref changed)} marks removed");
        });
        return changed;
    }
}

/// <param name="Skipped">One line for each load that is left alone, with the reason.</param>
public sealed record JournalRepairPlan(IReadOnlyList<JournalRepairLoad> Loads, IReadOnlyList<string> Skipped);

/// <param name="Mark">The mark to remove from the tables; 0 if the load had none, or another load has it too.</param>
/// <param name="Blobs">Number of its blobs left in the journal, without the document of its removal.</param>
public sealed record JournalRepairLoad(string Folder, LoadId Load, int Mark, int Blobs);

/// <param name="Marks">Number of entities that a mark was removed from.</param>
public sealed record JournalRepaired(int Loads, long Blobs, long Marks);
