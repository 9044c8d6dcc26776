using HibpIngest.Pipeline.Removal;

namespace HibpIngest.Pipeline.Recovery;

/// <summary>
/// Restores into a database what the journal records: current loads, details of their breaches, replacements and removals. A load is
/// restored in one transaction, or not at all if any part of it is invalid. Idempotent: another run does what is left.
/// </summary>
public sealed partial class RecoverLoads(
    ILoads loads, ILoadRows rows, ICatalogue catalogue, IWorkRegister register, IJournalBlobs blobs,
    RemoveBreach removal, ILogger<RecoverLoads> logger)
{
    private const int ChunkRows = 20_000;

    internal async Task<bool> IsNeededAsync(RecoveryPlan plan, CancellationToken cancellationToken)
    {
        foreach (var load in plan.Loads)
        {
            var known = await FindAsync(load.Journaled.Folder, cancellationToken);
            var replaced = plan.Replaced.ContainsKey(load.Id);
            if (known is { Removing: true })
                continue;
            if (known is null || !await IsSettledAsync(known, cancellationToken)
                || (known.PublishedAt is not null && (replaced || load.Document.Version > known.Version)))
            {
                return true;
            }
        }
        foreach (var load in plan.Removed)
        {
            if (await FindAsync(load.Folder, cancellationToken) is not null)
                return true;
        }
        return false;
    }

    /// <param name="fullLayouts">Layouts that have the accounts of every load that was published.</param>
    /// <param name="beforePublishing">Called before the first removal, since a removal publishes the catalogue from the database.</param>
    internal async Task<JournalRecovered> RunAsync(
        RecoveryPlan plan, IReadOnlyList<int> fullLayouts, IProgress<(int Done, int All)>? progress,
        Func<CancellationToken, Task> beforePublishing, CancellationToken cancellationToken)
    {
        // This comes first: otherwise the files of loads that the database doesn't know would be loaded again.
        foreach (var blob in plan.RemovedBlobs())
            await register.AddRemovedAsync(blob, cancellationToken);

        var run = new Run(plan, fullLayouts, progress);
        // Known loads first: a load that was assigned to another breach must not be removed with the old one.
        var unknown = new List<PlannedLoad>();
        foreach (var load in plan.Loads)
        {
            if (await rows.GetJournalEntryAsync(load.Id, cancellationToken) is not { } known)
                unknown.Add(load);
            else
                await RecoverAsync(run, load, known, cancellationToken);
        }
        foreach (var (load, by) in plan.Replaced.Where(pair => plan.Loads.All(load => load.Id != pair.Key)))
            await rows.SetReplacedAsync(load, by, cancellationToken);
        // Unknown loads of other breaches before the removals, so that the catalogue published by a removal lists them. Those of a removed
        // breach after them: a breach dropped again after its removal must not be removed with what is left of the old one.
        var removed = await FindRemovedAsync(plan, cancellationToken);
        foreach (var load in unknown.Where(load => !removed.ContainsKey(load.Document.Breach)))
            await RecoverAsync(run, load, null, cancellationToken);
        await HideRemovedAsync(run, plan, removed, cancellationToken);
        await beforePublishing(cancellationToken);
        foreach (var (breach, ids) in removed)
            await RemoveAsync(run, breach, ids, cancellationToken);
        foreach (var load in unknown.Where(load => removed.ContainsKey(load.Document.Breach)))
            await RecoverAsync(run, load, null, cancellationToken);
        return run.Result;
    }

    private async Task RecoverAsync(Run run, PlannedLoad load, JournalEntry? known, CancellationToken cancellationToken)
    {
        var (document, folder) = (load.Document, load.Journaled.Folder);
        try
        {
            if (known is not null && JournalNames.Folder(known) != folder)
            {
                throw new NotPossibleException(
                    $"the database has another load {document.Load}, of {known.Breach.Name}: if the folder belongs to another store, "
                    + "move it out of the journal");
            }
            var slices = known is not null && await IsSettledAsync(known, cancellationToken)
                ? [] : await ReadSlicesAsync(document, folder, cancellationToken);
            var step = await rows.RecoverLoadAsync(run.OrderOf(load, slices), cancellationToken);
            // This also deletes rows that an interrupted run has left.
            if (await loads.GetLoadAsync(load.Id, cancellationToken) is { Purged: false, IsRecovered: true })
            {
                while (await rows.PurgeRowsAsync(load.Id, ChunkRows, cancellationToken) > 0)
                {
                    // until no row is left
                }
            }
            if (step is RecoveryStep.Added or RecoveryStep.Finished)
            {
                await register.AddReceiptAsync(new BlobVersion(document.Blob, document.ETag), cancellationToken);
                LogRecovered(document.Load, document.Breach, document.Rows);
            }
            run.Add(load, step);
        }
        catch (Exception e) when (e is NotPossibleException or BadInputException or DamagedSegmentException or JournalConflictException)
        {
            run.Fail($"folder '{folder}' of the journal: {e.Message}");
            LogRefused(document.Load, document.Breach, e.Message);
        }
    }

    private async Task<IReadOnlyList<Slice>> ReadSlicesAsync(
        JournalLoadDocument document, string folder, CancellationToken cancellationToken)
    {
        var slices = new List<Slice>();
        foreach (var segment in document.Segments)
        {
            var name = JournalNames.Segment(folder, segment.First);
            if (await blobs.FindAsync(name, cancellationToken) is not { } length)
                throw new JournalConflictException($"segment '{name}' is missing: put the blob back from a copy or a version of it");
            await using var reader = await SegmentReader.OpenAsync(blobs, name, cancellationToken);
            if (length != segment.Bytes || !SegmentCopy.IsOf(reader.Facts, FactsOf(document, segment)))
            {
                throw new JournalConflictException(
                    $"segment '{name}' does not match its document: put the right blob back");
            }
            foreach (var block in reader.Blocks)
            {
                if (block.Slice != slices.Count + 1)
                    throw new JournalConflictException(
                        $"segment '{name}' has slice {block.Slice} after slice {slices.Count}: put the right blob back");
                slices.Add(new Slice
                {
                    Load = new(document.Load),
                    Number = block.Slice,
                    First = block.First,
                    Last = block.Last,
                    Count = block.Rows,
                    State = SliceState.Done,
                });
            }
        }
        return slices;
    }

    private static SegmentFacts FactsOf(JournalLoadDocument document, DocumentSegment segment) => new()
    {
        Store = document.Store,
        Load = new(document.Load),
        Mark = document.Mark,
        Blob = new BlobVersion(document.Blob, document.ETag),
        Generation = document.Generation,
        StartedAt = document.StartedAt,
        Breach = document.Breach,
        ExtractorVersion = document.Settings.ExtractorVersion,
        BatchRows = document.Settings.BatchRows,
        SliceRows = document.Settings.SliceRows,
        First = segment.First,
        Last = segment.Last,
    };

    private async Task<Dictionary<string, List<LoadId>>> FindRemovedAsync(RecoveryPlan plan, CancellationToken cancellationToken)
    {
        var found = new Dictionary<string, List<LoadId>>(StringComparer.OrdinalIgnoreCase);
        foreach (var load in plan.Removed)
        {
            if (await FindAsync(load.Folder, cancellationToken) is { } known)
                Add(known.Breach.Name, known.Load);
            // Loads that were removed in the same step and have nothing in the journal.
            foreach (var one in load.Removal?.Loads ?? [])
            {
                if (await loads.GetLoadHeadAsync(new(one.Load), cancellationToken) is { } head
                    && head.Blob == new BlobVersion(one.Blob, one.ETag))
                {
                    Add(head.Breach, head.Id);
                }
            }
        }
        return found;

        void Add(string breach, LoadId load)
        {
            if (!found.TryGetValue(breach, out var ids))
                found.Add(breach, ids = []);
            if (!ids.Contains(load))
                ids.Add(load);
        }
    }

    // Hides breaches with a load whose file is recorded as removed, but which the journal doesn't have (it was off at the time). Without
    // the journal it is unknown which loads of the breach the removal meant, so removing them is left to the operator.
    private async Task HideRemovedAsync(
        Run run, RecoveryPlan plan, Dictionary<string, List<LoadId>> removed, CancellationToken cancellationToken)
    {
        var journaled = plan.Loads.Select(load => load.Id).ToHashSet();
        foreach (var load in await loads.ListLoadsAsync(null, cancellationToken))
        {
            if (load.Removing || journaled.Contains(load.Id) || removed.ContainsKey(load.Breach)
                || !await register.WasRemovedAsync(load.Blob, cancellationToken))
            {
                continue;
            }
            await catalogue.SetHiddenAsync(load.Breach, true, cancellationToken);
            run.Fail($"load {load.Id} of {load.Breach} was removed after the backup, so the breach is hidden: hibp breach remove "
                + $"\"{load.Breach}\" removes it again");
        }
    }

    private async Task RemoveAsync(Run run, string breach, List<LoadId> removed, CancellationToken cancellationToken)
    {
        try
        {
            var all = (await loads.ListLoadsAsync(breach, cancellationToken)).ToList();
            // A removal that began before the backup continues with its own loads.
            var current = all.Exists(load => load.Removing) ? []
                : all.Where(load => !removed.Contains(load.Id) && run.Counts(load.Id)).Select(load => load.Id).ToList();
            if (current.Count > 0)
            {
                throw new NotPossibleException(
                    $"load {removed[0]} was removed, but load {current[0]} of the same breach was not: assign it to another breach (hibp "
                    + $"breach assign {current[0]} NAME)");
            }
            // A load that was open at the backup is removed too: no process works on it any more.
            foreach (var load in all.Where(load => removed.Contains(load.Id)))
                await loads.FailLoadAsync(load.Id, owner: null, "it was removed after the backup", superseded: false, cancellationToken);
            await removal.RunAsync(breach, null, cancellationToken);
            run.Removed(breach);
        }
        catch (Exception e) when (e is NotPossibleException or CatalogueBehindException or JournalConflictException)
        {
            // Readers must not see the breach even if it can't be removed.
            await catalogue.SetHiddenAsync(breach, true, cancellationToken);
            run.Fail($"breach {breach} was removed, and could not be removed again, so it is hidden: {e.Message}; then: hibp breach remove "
                + $"\"{breach}\"");
        }
    }

    /// <summary>True if a load was published here, even if another has replaced it since.</summary>
    private async Task<bool> IsSettledAsync(JournalEntry known, CancellationToken cancellationToken) =>
        known.PublishedAt is not null
        || await loads.GetLoadAsync(known.Load, cancellationToken) is { State: LoadState.Done, ReplacedBy: not null };

    /// <returns>Null if there is no such load, or another load has this number.</returns>
    private async Task<JournalEntry?> FindAsync(string folder, CancellationToken cancellationToken) =>
        await rows.GetJournalEntryAsync(JournalNames.LoadOf(folder), cancellationToken) is { } known && JournalNames.Folder(known) == folder
            ? known : null;

    private sealed class Run(RecoveryPlan plan, IReadOnlyList<int> fullLayouts, IProgress<(int Done, int All)>? progress)
    {
        private readonly List<RecoveredLoad> _loads = [];
        private readonly SortedSet<string> _updated = new(StringComparer.OrdinalIgnoreCase);
        private readonly SortedSet<string> _hidden = new(StringComparer.OrdinalIgnoreCase);
        private readonly List<string> _removed = [];
        private readonly List<string> _problems = [.. plan.Problems];
        private int _done;

        public JournalRecovered Result => new(_loads, [.. _updated], [.. _hidden], _removed, plan.Incomplete, _problems);

        public bool Counts(LoadId load) => plan.Loads.Any(one => one.Id == load) && !plan.Replaced.ContainsKey(load);

        public LoadRecovery OrderOf(PlannedLoad load, IReadOnlyList<Slice> slices)
        {
            var document = load.Document;
            return new LoadRecovery
            {
                Load = load.Id,
                Mark = document.Mark,
                Blob = new BlobVersion(document.Blob, document.ETag),
                Generation = document.Generation,
                StartedAt = document.StartedAt,
                Settings = document.Settings,
                Rows = document.Rows,
                Accounts = document.Accounts,
                Segments = [.. document.Segments.Select((one, i) => new JournalSegment(i + 1, one.First, one.Last, one.Bytes))],
                Slices = slices,
                FullLayouts = fullLayouts,
                Version = document.Version,
                PublishedAt = document.PublishedAt,
                ReplacedBy = plan.Replaced.TryGetValue(load.Id, out var by) ? by : null,
                Breach = load.Breach,
            };
        }

        public void Add(PlannedLoad load, RecoveryStep step)
        {
            if (step is RecoveryStep.Added or RecoveryStep.Finished)
            {
                _loads.Add(new RecoveredLoad(
                    load.Document.Load, load.Breach.Name, load.Document.Rows, !plan.Replaced.ContainsKey(load.Id)));
            }
            if (step == RecoveryStep.Updated)
                _updated.Add(load.Breach.Name);
            if (step != RecoveryStep.Known && !load.Breach.IsReported)
                _hidden.Add(load.Breach.Name);
            if (step == RecoveryStep.Removing)
            {
                _problems.Add($"load {load.Id} of {load.Breach.Name} is being removed; to complete the removal, run: "
                    + $"hibp breach remove \"{load.Breach.Name}\"");
            }
            progress?.Report((++_done, plan.Loads.Count));
        }

        public void Removed(string breach) => _removed.Add(breach);

        public void Fail(string problem)
        {
            _problems.Add(problem);
            progress?.Report((++_done, plan.Loads.Count));
        }
    }

    [LoggerMessage(
        EventIds.RecoverLoadsRecovered, LogLevel.Information, "load {Load} of {Breach}: recovered from the journal ({Rows} rows)")]
    private partial void LogRecovered(long load, string breach, long rows);

    [LoggerMessage(EventIds.RecoverLoadsRefused, LogLevel.Error, "load {Load} of {Breach}: not recovered from the journal: {Reason}")]
    private partial void LogRefused(long load, string breach, string reason);
}

/// <param name="Loads">Loads that were unknown or not published, and were restored.</param>
/// <param name="Updated">Breaches whose details were updated.</param>
/// <param name="Hidden">Breaches that are hidden because no document says that they may be shown.</param>
/// <param name="Begun">Folders of loads without a document: they were not restored.</param>
public sealed record JournalRecovered(
    IReadOnlyList<RecoveredLoad> Loads, IReadOnlyList<string> Updated, IReadOnlyList<string> Hidden, IReadOnlyList<string> Removed,
    IReadOnlyList<string> Begun, IReadOnlyList<string> Problems);

/// <param name="Counts">False: another load was published in its place.</param>
public sealed record RecoveredLoad(long Load, string Breach, long Rows, bool Counts);
