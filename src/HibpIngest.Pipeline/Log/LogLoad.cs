using HibpIngest.AccountLog;
using HibpIngest.Errors;
using HibpIngest.Stores;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

/// <summary>
/// Writes a load into the account log: its segments, as soon as its rows are in the tables, and, once it is published,
/// the document that makes them count; later, a successor of that for each change of what is told of it. Its key is the
/// load: everything it writes is the same whenever it is written, and is written with a condition, so that a second
/// delivery, late or beside the first, finds what is there.
/// </summary>
public sealed partial class LogLoad(
    ILoadLog log, IDatabaseSetup database, ISlices slices, IAccountLogBlobs blobs, SegmentCopy copy, LogSchedule schedule,
    IOptions<JournalOptions> journal, IOptions<IngestOptions> ingest, TimeProvider time, ILogger<LogLoad> logger)
    : IStage<LogMessage, LogRun>
{
    public async Task<LogRun?> TakeAsync(LogMessage message, CancellationToken cancellationToken)
    {
        var entry = await log.GetLogEntryAsync(message.Load, cancellationToken);
        // What an earlier delivery has written behind the removal, and had no time to take away.
        if (entry is null or { Removing: true })
            await DeleteRemovedAsync(message.Load, cancellationToken);
        return schedule.IsOn && entry is { IsComplete: true, Stopped: false } ? new LogRun(entry) : null;
    }

    public Task RunAsync(LogRun work, CancellationToken cancellationToken) => RunAsync(work.Entry, null, cancellationToken);

    /// <summary>Until the load is logged as far as it can be by now, or the time budget is used up.</summary>
    /// <param name="progress">Told of the rows that are in segments.</param>
    /// <param name="cancellationToken">Ends it at a segment, which is then not there.</param>
    /// <exception cref="LogConflictException">The log holds something else than what belongs there.</exception>
    public Task RunAsync(LoadLogEntry entry, IProgress<long>? progress, CancellationToken cancellationToken) =>
        RunAsync(entry, progress, tellsOthers: true, cancellationToken);

    /// <summary>
    /// Writes what has changed of a breach into the documents of its loads: within an operator's command, so that a database that is
    /// restored from the log knows the change once the command has ended.
    /// </summary>
    /// <param name="withSegments">False: loads whose segments are not all written yet are left out.</param>
    /// <param name="cancellationToken">Ends it between two blobs.</param>
    /// <exception cref="LogConflictException">As in <see cref="RunAsync(LoadLogEntry, IProgress{long}, CancellationToken)"/>.</exception>
    public async Task TellAsync(string breach, bool withSegments, CancellationToken cancellationToken)
    {
        foreach (var load in await schedule.ListWaitingAsync(breach, cancellationToken))
        {
            if (await log.GetLogEntryAsync(load.Id, cancellationToken) is not { IsComplete: true, Stopped: false } entry)
                continue;
            if (withSegments || (entry.Segments.Count > 0 && entry.Segments.All(segment => segment.Bytes is not null)))
                await RunAsync(entry, null, tellsOthers: false, cancellationToken);
        }
    }

    private async Task RunAsync(LoadLogEntry entry, IProgress<long>? progress, bool tellsOthers, CancellationToken cancellationToken)
    {
        HibpTelemetry.Span?.SetTag(TelemetryNames.Tags.Accounts, entry.Accounts);
        var folder = LogNames.Folder(entry);
        if (await blobs.FindAsync(folder + LogNames.Removed, cancellationToken) is not null)
        {
            throw new LogConflictException($"the account log says that load {entry.Load} of {entry.Breach.Name} was removed, and the "
                + "database has it: was it restored from a backup? Remove the breach again: hibp breach remove");
        }
        try
        {
            await WriteAsync(entry, folder, progress, tellsOthers, cancellationToken);
        }
        finally
        {
            // A removal that began meanwhile lists before it deletes, or this does, however it ended.
            if (await blobs.FindAsync(folder + LogNames.Removed, CancellationToken.None) is not null)
                await DeleteAsync(blobs, folder, CancellationToken.None);
        }
    }

    public Task ReleaseAsync(LogRun work, Exception cause) => Task.CompletedTask;

    /// <inheritdoc/>
    /// <remarks>Sweep tries again; until then the load is not logged, and says why.</remarks>
    public async Task<bool> FailAsync(LogRun work, Exception error)
    {
        var reason = UnexpectedError.Reason(error);
        await log.SetLogErrorAsync(work.LoadId, reason, CancellationToken.None);
        LogFailed(work.LoadId, work.Breach, reason);
        return false;
    }

    public string UsedUp(LogRun work) => throw new NotSupportedException("its tries don't count");

    /// <summary>Deletes what the log has of a load but that it was removed.</summary>
    internal static async Task DeleteAsync(IAccountLogBlobs blobs, string folder, CancellationToken cancellationToken)
    {
        await foreach (var blob in blobs.ListAsync(folder, cancellationToken))
        {
            if (blob.Name != folder + LogNames.Removed)
                await blobs.DeleteAsync(blob.Name, cancellationToken);
        }
    }

    private async Task WriteAsync(
        LoadLogEntry entry, string folder, IProgress<long>? progress, bool tellsOthers, CancellationToken cancellationToken)
    {
        var store = (await database.GetIdentityAsync(cancellationToken))!.Id;
        if (!await WriteSegmentsAsync(entry, store, progress, cancellationToken))
            return;
        // As it is by now; one that is published later gets its message then.
        var published = await log.GetLogEntryAsync(entry.Load, cancellationToken);
        if (published is { Stopped: false, PublishedAt: not null, IsLogged: false })
        {
            await WriteDocumentAsync(folder, LoadDocument.Of(published, store), cancellationToken);
            // What its zip's metadata has changed is told of the breach's other loads too: before this one is closed.
            if (tellsOthers)
                await schedule.SendAsync(published.Breach.Name, cancellationToken, except: entry.Load);
            await log.MarkLoggedAsync(entry.Load, published.Version, CancellationToken.None);
            LogLogged(entry.Load, published.Breach.Name, published.Segments.Count, published.LastPosition);
        }
    }

    private async Task DeleteRemovedAsync(long load, CancellationToken cancellationToken)
    {
        var removed = new List<string>();
        await foreach (var blob in blobs.ListAsync(LogNames.Folders(load), cancellationToken))
        {
            if (LogNames.FolderOf(blob.Name) is { } folder && blob.Name == folder + LogNames.Removed)
                removed.Add(folder);
        }
        foreach (var folder in removed)
            await DeleteAsync(blobs, folder, cancellationToken);
    }

    /// <summary>False: it goes on elsewhere, or nothing of it may be written any more.</summary>
    private async Task<bool> WriteSegmentsAsync(
        LoadLogEntry entry, Guid store, IProgress<long>? progress, CancellationToken cancellationToken)
    {
        var began = time.GetTimestamp();
        // Whole batches, for a slice lies in one; as many as fit.
        var (batch, slice) = (entry.Settings.BatchRows, entry.Settings.SliceRows);
        var batches = Math.Min(SegmentLimits.Rows / batch, SegmentLimits.Blocks / ((batch + slice - 1) / slice));
        var rows = (long)batch * Math.Clamp(batches, 1, journal.Value.SegmentBatches);
        var planned = await log.PlanSegmentsAsync(entry.Load, rows, cancellationToken);
        if (planned.Count == 0)
            return false;
        var of = planned.All(segment => segment.Bytes is not null)
            ? [] : await slices.ListSlicesAsync(entry.Load, failedOnly: false, cancellationToken);
        foreach (var segment in planned)
        {
            if (segment.Bytes is null)
            {
                if (ingest.Value.TimeBudget > TimeSpan.Zero && time.GetElapsedTime(began) >= ingest.Value.TimeBudget)
                {
                    await schedule.SendAsync(entry.Load, cancellationToken);
                    LogHandedOn(entry.Load, entry.Breach.Name);
                    return false;
                }
                var bytes = await copy.WriteAsync(entry, store, segment, of, cancellationToken);
                await log.MarkSegmentWrittenAsync(entry.Load, segment.Number, bytes, CancellationToken.None);
                LogSegment(entry.Load, segment.Number, planned.Count, bytes);
            }
            progress?.Report(segment.Last);
        }
        return true;
    }

    private async Task WriteDocumentAsync(string folder, LoadDocument document, CancellationToken cancellationToken)
    {
        if (await blobs.WriteAsync(folder + LogNames.Load, document.ToJson(), cancellationToken))
            return;
        var there = (await LogManifest.FindAsync(blobs, folder, cancellationToken))?.Document;
        if (there is not null && !there.IsOfSameLoad(document))
            throw Conflict(document);
        if (there?.Version >= document.Version)
        {
            // Another run's, which has read the same, or what was changed since.
            return;
        }
        await blobs.WriteAsync(LogNames.Document(folder, document.Version), document.ToJson(), cancellationToken);
    }

    private static LogConflictException Conflict(LoadDocument document) =>
        new($"the account log has a document of load {document.Load} that tells of another one of that number: was the log restored, or "
            + $"put together from two stores? Move the folder away, then: hibp log write --load {document.Load}");
}
