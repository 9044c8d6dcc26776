using HibpIngest.AccountLog;
using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>
/// Deletes what is left of loads that the account log tells were removed and that the database no longer has: their marks in the tables of
/// all written layouts, hashes included, and their blobs in the log. Its key is the load's folder: marks go before blobs, so a run that is
/// interrupted finds the same folders again, and a second run changes nothing.
/// </summary>
public sealed class RepairRemoved(
    IAccountLogBlobs blobs, ILoads loads, ILayouts layouts, IDatabaseSetup database, IStoreTables tables, IOptions<UpsertOptions> options,
    TimeProvider time)
{
    // A part of the table has so many requests in flight, more or less; as in RemoveBreach.
    private const int RequestsAPart = 4;

    private readonly RetiredMarks _retiredMarks = new(loads, database, tables);

    /// <summary>Finds what there is to repair, and changes nothing.</summary>
    /// <param name="all">Loads without blobs, too: marks of theirs may be left all the same.</param>
    public async Task<LogRepairPlan> PlanAsync(bool all, CancellationToken cancellationToken)
    {
        var store = (await database.GetIdentityAsync(cancellationToken))?.Id;
        // Before the loads: a removal that ends in between leaves its load in neither, and is found the next time.
        var manifest = await LogManifest.ReadAsync(blobs, cancellationToken);
        var known = (await loads.ListLoadsAsync(null, cancellationToken)).ToDictionary(load => load.Id);
        // A mark is never given twice; loads of a store that was upgraded from schema 1 share theirs.
        var alive = known.Values.Select(load => load.Mark).ToHashSet();
        var (removed, skipped) = (new List<LogRepairLoad>(), new List<string>());
        foreach (var load in manifest.Loads.Where(load => load.Removal is not null && (all || load.Blobs.Count > 1)))
        {
            var removal = load.Removal!;
            if (removal.Store != store)
            {
                skipped.Add($"folder '{load.Folder}' is of another store");
            }
            else if (known.GetValueOrDefault(removal.Load) is { } there)
            {
                skipped.Add(there.Removing
                    ? $"load {there.Id} of {there.Breach} is being removed: 'hibp breach remove {there.Breach}' completes that"
                    : $"load {there.Id} of {there.Breach} is removed in the account log, and the database has it: was it restored?");
            }
            else
            {
                removed.Add(new LogRepairLoad(
                    load.Folder, removal.Load, alive.Contains(removal.Mark) ? 0 : removal.Mark,
                    load.Blobs.Count(blob => blob.Name != load.Folder + LogNames.Removed)));
            }
        }
        return new LogRepairPlan(removed, skipped);
    }

    /// <summary>Does what was found.</summary>
    /// <param name="progress">Told one line of what is done, or waited for.</param>
    public async Task<LogRepaired> RunAsync(LogRepairPlan plan, IProgress<string>? progress, CancellationToken cancellationToken)
    {
        var set = await layouts.GetLayoutsAsync(cancellationToken);
        set.RequireKnown();
        var (changed, deleted, done) = (0L, 0L, 0);
        foreach (var load in plan.Loads)
        {
            done++;
            var what = $"load {load.Load} ({done} of {plan.Loads.Count})";
            if (load.Mark > 0)
                changed += await TakeOffAsync(load.Mark, set.Written, what, progress, cancellationToken);
            progress?.Report($"{what}: deleting {load.Blobs} blobs");
            await LogLoad.DeleteAsync(blobs, load.Folder, cancellationToken);
            deleted += load.Blobs;
        }
        return new LogRepaired(plan.Loads.Count, deleted, changed);
    }

    /// <returns>Accounts and hashes that had the mark, in all layouts.</returns>
    private async Task<long> TakeOffAsync(
        int mark, IReadOnlyList<StoreLayout> written, string what, IProgress<string>? progress, CancellationToken cancellationToken)
    {
        var parts = written.SelectMany(layout => TablePart.OfAccounts(layout.Facts).Select(part => (Part: part, OfRanges: false))
            .Concat(TablePart.OfRanges(layout.Facts).Where(_ => layout.WritesRanges).Select(part => (Part: part, OfRanges: true))))
            .ToList();
        var (changed, walked) = (0L, 0);
        var atOnce = new ParallelOptions
        {
            MaxDegreeOfParallelism = Math.Max(options.Value.TransactionsInFlight / RequestsAPart, 1),
            CancellationToken = cancellationToken,
        };
        var retry = TableRetry.Create(
            (reason, pause) => progress?.Report($"{what}: waiting {pause.TotalSeconds:0} s: {reason}"), time);
        await Parallel.ForEachAsync(parts, atOnce, async (one, token) =>
        {
            Interlocked.Add(ref changed, await _retiredMarks.RemoveAsync(
                mark, one.Part, one.OfRanges, retry, token));
            progress?.Report(
                $"{what}: {Interlocked.Increment(ref walked)} of {parts.Count} parts of the tables are done, "
                + $"{Interlocked.Read(ref changed)} marks taken off");
        });
        return changed;
    }
}

/// <summary>What <see cref="RepairRemoved"/> has found.</summary>
/// <param name="Loads">Removed loads that the database no longer has.</param>
/// <param name="Skipped">Why others are left alone, a line each.</param>
public sealed record LogRepairPlan(IReadOnlyList<LogRepairLoad> Loads, IReadOnlyList<string> Skipped);

/// <param name="Folder">Its folder in the account log.</param>
/// <param name="Mark">The mark to take off the tables; 0: it had none, or another load has it.</param>
/// <param name="Blobs">Its blobs that are left in the log, without the document that tells of its removal.</param>
public sealed record LogRepairLoad(string Folder, long Load, int Mark, int Blobs);

/// <summary>What <see cref="RepairRemoved"/> has done.</summary>
/// <param name="Loads">Removed loads that were gone through.</param>
/// <param name="Blobs">Blobs of the log that were deleted.</param>
/// <param name="Marks">Marks that were taken off entities of the tables.</param>
public sealed record LogRepaired(int Loads, long Blobs, long Marks);
