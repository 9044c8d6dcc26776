namespace HibpIngest.Pipeline.Journal;

/// <summary>
/// Writes a load into the journal: its segments as soon as its rows are in the tables, and, once it is published, the document that makes
/// them count; later, a new version of the document for each change of the breach's metadata or state. Idempotency key: the load. All
/// content is deterministic and written with a condition, so a late or concurrent redelivery finds the blobs there.
/// </summary>
public sealed partial class WriteJournal(
    IBreachDatabase database, IJournalBlobs blobs, SegmentCopy copy, JournalSchedule schedule, IOptions<IngestOptions> ingest,
    TimeProvider time, ILogger<WriteJournal> logger)
    : IStage<JournalMessage, JournalRun>
{
    public async Task<JournalRun?> ClaimAsync(JournalMessage message, CancellationToken cancellationToken)
    {
        var entry = await database.GetJournalEntryAsync(message.LoadId, cancellationToken);
        // Blobs that an earlier delivery wrote after the removal and had no time to delete.
        if (entry is null or { Removing: true })
            await DeleteRemovedAsync(message.LoadId, cancellationToken);
        return schedule.IsOn && entry is { IsComplete: true, Stopped: false } ? new JournalRun(entry) : null;
    }

    public Task RunAsync(JournalRun work, CancellationToken cancellationToken) => RunAsync(work.Entry, null, cancellationToken);

    /// <summary>Writes as much of the load as is possible now, or until the time budget is used up.</summary>
    /// <param name="progress">Receives the number of rows in segments.</param>
    public async Task RunAsync(
        JournalEntry entry, IProgress<long>? progress, CancellationToken cancellationToken, bool notifiesOthers = true)
    {
        HibpTelemetry.Span?.SetTag(TelemetryNames.Tags.Accounts, entry.Accounts);
        var folder = JournalNames.Folder(entry);
        if (await blobs.FindAsync(folder + JournalNames.Removed, cancellationToken) is not null)
        {
            throw new JournalConflictException($"the journal says that load {entry.Load} of {entry.Breach.Name} was removed, and the "
                + "database has it: was it restored from a backup? Remove the breach again: hibp breach remove");
        }
        try
        {
            await WriteAsync(entry, folder, progress, notifiesOthers, cancellationToken);
        }
        finally
        {
            // If a removal has begun since, either it lists these blobs before it deletes, or they are deleted here.
            if (await blobs.FindAsync(folder + JournalNames.Removed, CancellationToken.None) is not null)
                await DeleteAsync(blobs, folder, CancellationToken.None);
        }
    }

    /// <summary>Writes a change of a breach into its loads' documents, within an operator's command.</summary>
    /// <param name="withSegments">False: loads whose segments are not all written yet are skipped.</param>
    public async Task WriteChangeAsync(string breach, bool withSegments, CancellationToken cancellationToken)
    {
        foreach (var load in await schedule.ListWaitingAsync(breach, cancellationToken))
        {
            if (await database.GetJournalEntryAsync(load.Id, cancellationToken) is not { IsComplete: true, Stopped: false } entry)
                continue;
            if (withSegments || (entry.Segments.Count > 0 && entry.Segments.All(segment => segment.Bytes is not null)))
                await RunAsync(entry, null, cancellationToken, notifiesOthers: false);
        }
    }

    // Sweep retries; until then the load counts as not journaled, and shows the reason.
    public async Task<bool> FailAsync(JournalRun work, Exception error)
    {
        var reason = UnexpectedError.Reason(error);
        await database.SetJournalErrorAsync(work.LoadId, reason, CancellationToken.None);
        LogFailed(work.LoadId.Value, work.Breach, reason);
        return false;
    }

    internal static async Task DeleteAsync(IJournalBlobs blobs, string folder, CancellationToken cancellationToken)
    {
        await foreach (var blob in blobs.ListAsync(folder, cancellationToken))
        {
            if (blob.Name != folder + JournalNames.Removed)
                await blobs.DeleteAsync(blob.Name, cancellationToken);
        }
    }

    private async Task WriteAsync(
        JournalEntry entry, string folder, IProgress<long>? progress, bool notifiesOthers, CancellationToken cancellationToken)
    {
        var store = (await database.GetIdentityAsync(cancellationToken))!.Id;
        if (!await WriteSegmentsAsync(entry, store, progress, cancellationToken))
            return;
        // The entry is read again: a load that is published after this gets its message then.
        var published = await database.GetJournalEntryAsync(entry.Load, cancellationToken);
        if (published is { Stopped: false, PublishedAt: not null, IsJournaled: false })
        {
            await WriteDocumentAsync(folder, JournalLoadDocument.Of(published, store), cancellationToken);
            // A change from its zip's metadata must reach the documents of the breach's other loads too, before this load is closed.
            if (notifiesOthers)
                await schedule.SendAsync(published.Breach.Name, cancellationToken, except: entry.Load);
            await database.MarkJournaledAsync(entry.Load, published.Version, CancellationToken.None);
            LogLogged(entry.Load.Value, published.Breach.Name, published.Segments.Count, published.LastPosition);
        }
    }

    private async Task DeleteRemovedAsync(LoadId load, CancellationToken cancellationToken)
    {
        var folders = await blobs.ListAsync(JournalNames.Folders(load), cancellationToken)
            .Where(blob => blob.Name == JournalNames.FolderOf(blob.Name) + JournalNames.Removed)
            .Select(blob => JournalNames.FolderOf(blob.Name)!).ToListAsync(cancellationToken);
        foreach (var folder in folders)
            await DeleteAsync(blobs, folder, cancellationToken);
    }

    /// <returns>False if another message continues, or the load may not be written any more.</returns>
    private async Task<bool> WriteSegmentsAsync(
        JournalEntry entry, Guid store, IProgress<long>? progress, CancellationToken cancellationToken)
    {
        var began = time.GetTimestamp();
        // Whole batches, as many as fit, because a slice lies in one batch.
        var (batch, slice) = (entry.Settings.BatchRows, entry.Settings.SliceRows);
        var batches = Math.Min(SegmentLimits.Rows / batch, SegmentLimits.Blocks / ((batch + slice - 1) / slice));
        var rows = (long)batch * Math.Clamp(batches, 1, schedule.SegmentBatches);
        var planned = await database.PlanSegmentsAsync(entry.Load, rows, cancellationToken);
        if (planned.Count == 0)
            return false;
        var of = planned.All(segment => segment.Bytes is not null)
            ? [] : await database.ListSlicesAsync(entry.Load, failedOnly: false, cancellationToken);
        foreach (var segment in planned)
        {
            if (segment.Bytes is null)
            {
                if (ingest.Value.TimeBudget > TimeSpan.Zero && time.GetElapsedTime(began) >= ingest.Value.TimeBudget)
                {
                    await schedule.SendAsync(entry.Load, cancellationToken);
                    LogHandedOn(entry.Load.Value, entry.Breach.Name);
                    return false;
                }
                var bytes = await copy.WriteAsync(entry, store, segment, of, cancellationToken);
                await database.MarkSegmentWrittenAsync(entry.Load, segment.Number, bytes, CancellationToken.None);
                LogSegment(entry.Load.Value, segment.Number, planned.Count, bytes);
            }
            progress?.Report(segment.Last);
        }
        return true;
    }

    private async Task WriteDocumentAsync(string folder, JournalLoadDocument document, CancellationToken cancellationToken)
    {
        if (await blobs.WriteAsync(folder + JournalNames.Load, document.ToJson(), cancellationToken))
            return;
        var there = (await JournalManifest.FindAsync(blobs, folder, cancellationToken))?.Document;
        if (there is not null && !there.IsOfSameLoad(document))
        {
            throw new JournalConflictException(
                $"the journal has a document of load {document.Load} that describes another load of that number: was the journal "
                + $"restored, or merged from two stores? Move the folder away, then run: hibp journal write --load {document.Load}");
        }
        // If that document exists, a concurrent run has written it, from the same state or a newer one.
        if (!(there?.Version >= document.Version))
            await blobs.WriteAsync(JournalNames.Document(folder, document.Version), document.ToJson(), cancellationToken);
    }

    [LoggerMessage(
        EventIds.WriteJournalSegment, LogLevel.Information,
        "load {Load}: segment {Segment} of {Segments} written to the journal ({Bytes} bytes)")]
    private partial void LogSegment(long load, int segment, int segments, long bytes);

    [LoggerMessage(
        EventIds.WriteJournalDone, LogLevel.Information,
        "load {Load} of {Breach}: written to the journal ({Segments} segments, {Rows} rows)")]
    private partial void LogLogged(long load, string breach, int segments, long rows);

    [LoggerMessage(
        EventIds.WriteJournalHandedOn, LogLevel.Information, "load {Load} of {Breach}: writing to the journal continued by a message")]
    private partial void LogHandedOn(long load, string breach);

    [LoggerMessage(EventIds.WriteJournalFailed, LogLevel.Error, "load {Load} of {Breach}: writing to the journal failed: {Reason}")]
    private partial void LogFailed(long load, string breach, string reason);
}

/// <summary>Takes no lease: a concurrent second run finds the blobs that the first has written.</summary>
public sealed record JournalRun(JournalEntry Entry) : IStageWork
{
    public LoadId LoadId => Entry.Load;

    public string Breach => Entry.Breach.Name;
}
