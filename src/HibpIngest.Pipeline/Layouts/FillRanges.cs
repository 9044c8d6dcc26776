using System.Text.Json.Serialization;
using Polly;

namespace HibpIngest.Pipeline.Layouts;

/// <summary>
/// Backfills the hashes of all accounts in the account table while loads are running, and turns ranges on. From its first step on, slices
/// write hashes themselves; earlier accounts are found by a scan of the table. Idempotency key: the layout. Another run resumes from the
/// checkpoint.
/// </summary>
public sealed partial class FillRanges(
    IBreachDatabase database, IStoreRegister register, StoreLayouts setup, LayoutChanges changes, CopyToRanges copy, TimeProvider time,
    ILogger<FillRanges> log)
{
    /// <summary>Also taken by a rebuild: accounts written where the scan has already been would have no hashes.</summary>
    internal const string LockName = "fill-ranges";

    private IProgress<FillProgress>? _progress;

    /// <summary>Runs the backfill. Returns the number of accounts written; 0 if ranges are on already.</summary>
    /// <param name="name">Name of the layout. Null for the one that is read.</param>
    /// <exception cref="NotPossibleException">There is no such layout, or another backfill or rebuild is running.</exception>
    public async Task<long> RunAsync(string? name, IProgress<FillProgress>? progress, CancellationToken cancellationToken)
    {
        _progress = progress;
        // An upgraded store has no layout before its first host has started.
        await setup.EnsureAsync(cancellationToken);
        var layout = await FindAsync(name, cancellationToken);
        if (layout.Ranges == RangesState.On)
            return 0;
        return await RenewingLock.RunAsync(
            database, LockName,
            "another 'hibp ranges fill' or 'hibp layout rebuild' is running; if its process has died, run this again a minute "
                + "later to resume it",
            time,
            async token =>
            {
                // The database first: every slice done after this has its hashes, and no rebuild without hashes can end.
                await RaiseAsync(layout, RangesState.Filling, token);
                await FillAsync(layout, token);
                await changes.ApplyOptOutsAsync(layout with { Ranges = RangesState.Filling }, token);
                await RaiseAsync(layout, RangesState.On, token);
                LogOn(layout.Id, copy.Accounts);
                return copy.Accounts;
            },
            cancellationToken);
    }

    private async Task RaiseAsync(StoreLayout layout, RangesState state, CancellationToken cancellationToken)
    {
        await database.RaiseRangesAsync(layout.Id, state, cancellationToken);
        await register.PutLayoutAsync(layout with { Ranges = state }, cancellationToken);
    }

    private async Task<StoreLayout> FindAsync(string? name, CancellationToken cancellationToken)
    {
        var read = (await register.GetReadLayoutAsync(cancellationToken))?.Id;
        var set = (await database.GetLayoutsAsync(cancellationToken)).Layouts;
        return set.FirstOrDefault(layout => name is null ? layout.Id == read : layout.Name == name)
            ?? throw new NotPossibleException(
                $"{(name is null ? "the layout that is read" : $"layout {name}")} is not written; expected one of "
                + $"{string.Join(", ", set.Select(layout => layout.Name))}");
    }

    private async Task FillAsync(StoreLayout layout, CancellationToken cancellationToken)
    {
        // Marks retired by now are not added. A mark retired from here on may be, from a page that was read before.
        var retired = await changes.FindRetiredAsync(cancellationToken);
        var recorded = await database.GetRangesFillAsync(layout.Id, cancellationToken);
        var progress = recorded is null ? new Progress(null, [.. retired]) : JsonSerializer.Deserialize<Progress>(recorded)!;
        var scan = TableScan.Parse(progress.Scan);
        var parts = TablePart.OfAccounts(layout.Facts);
        await RecordAsync(scan.ToString(), cancellationToken); // before anything is written
        LogStarted(layout.Id, scan.PartsDone, parts.Count);
        Report();

        var parallel = copy.InParallel(cancellationToken);
        await Parallel.ForEachAsync(parts, parallel, async (part, token) =>
        {
            while (!scan.IsDone(part))
            {
                var next = await copy.RunAsync(part, scan.Token(part), layout.Facts, retired, Retry, token);
                await scan.MoveToAsync(part, next, RecordAsync, token);
                Report();
            }
        });

        foreach (var mark in (await changes.FindRetiredAsync(cancellationToken)).Except(progress.Retired))
        {
            LogRemoved(mark);
            await Parallel.ForEachAsync(
                TablePart.OfHashes(layout.Facts), parallel, async (part, token) =>
                    await changes.RemoveAsync(mark, part, Retry, token));
        }

        void Report() => _progress?.Report(new FillProgress(copy.Accounts, scan.PartsDone, parts.Count));

        Task RecordAsync(string recordedScan, CancellationToken token) =>
            database.SetRangesFillAsync(layout.Id, JsonSerializer.Serialize(progress with { Scan = recordedScan }), token);
    }

    /// <param name="Retired">Marks that were retired when it began: no page read since can contain them.</param>
    private sealed record Progress(
        [property: JsonPropertyName("Walk")] string? Scan, [property: JsonPropertyName("Dead")] int[] Retired);

    private ResiliencePipeline Retry => field ??= TableRetry.Create(LogPaused, time);

    [LoggerMessage(
        EventIds.FillRangesBegun, LogLevel.Information,
        "ranges of layout {Layout}: backfill started ({Done} of {Parts} parts of the account table done)")]
    private partial void LogStarted(int layout, int done, int parts);

    [LoggerMessage(
        EventIds.FillRangesRemoved, LogLevel.Information,
        "ranges: mark {Mark} of a removed load taken off again, because it was removed during the backfill")]
    private partial void LogRemoved(int mark);

    [LoggerMessage(
        EventIds.FillRangesOn, LogLevel.Information,
        "ranges of layout {Layout}: backfill complete, ranges turned on ({Accounts} accounts written)")]
    private partial void LogOn(int layout, long accounts);

    [LoggerMessage(EventIds.FillRangesPaused, LogLevel.Information, "ranges: backfill paused for {Pause}: {Reason}")]
    private partial void LogPaused(string reason, TimeSpan pause);
}

/// <param name="Accounts">Number of accounts that this run has written.</param>
/// <param name="PartsDone">Number of parts of the account table that are complete, in this run or an earlier one.</param>
public sealed record FillProgress(long Accounts, int PartsDone, int Parts);
