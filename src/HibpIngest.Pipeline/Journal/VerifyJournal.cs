namespace HibpIngest.Pipeline.Journal;

/// <summary>Reads every byte that the journal has of a load, and compares it with the load in SQL.</summary>
public sealed class VerifyJournal(ILoadRows log, IDatabaseState database, IJournalBlobs blobs)
{
    /// <summary>Verifies a load. If it returns, the journal can stand in for the rows.</summary>
    /// <param name="progress">Receives the number of rows read.</param>
    /// <exception cref="NotPossibleException">There is no such load, or it isn't (completely) in the journal.</exception>
    /// <exception cref="JournalConflictException">The journal doesn't match the database.</exception>
    /// <exception cref="DamagedSegmentException">A segment is damaged or missing.</exception>
    public async Task<long> RunAsync(LoadId load, IProgress<long>? progress, CancellationToken cancellationToken)
    {
        var entry = await log.GetJournalEntryAsync(load, cancellationToken)
            ?? throw new NotPossibleException($"there is no load {load}; see: hibp status");
        if (!entry.IsJournaled)
        {
            throw new NotPossibleException(
                $"load {load} of {entry.Breach.Name} is not in the journal, or in an older state: a host writes it, or run: "
                + $"hibp journal write --load {load}");
        }
        var store = (await database.GetIdentityAsync(cancellationToken))!.Id;
        var folder = JournalNames.Folder(entry);
        var logged = await JournalManifest.FindAsync(blobs, folder, cancellationToken);
        if (logged is not { State: JournaledState.Counts, Document: { } document }
            || !document.IsOfSameLoad(JournalLoadDocument.Of(entry, store)))
        {
            throw new JournalConflictException(
                $"folder '{folder}' of the journal {Found(logged)}, but the database has the load as logged: was "
                + "one of the two restored, or changed by hand?");
        }
        var rows = 0L;
        foreach (var segment in entry.Segments)
        {
            await using var reader = await SegmentReader.OpenAsync(blobs, JournalNames.Segment(folder, segment.First), cancellationToken);
            if (!SegmentCopy.IsOf(reader.Facts, SegmentCopy.Facts(entry, store, segment)))
            {
                throw new JournalConflictException(
                    $"'{reader.Name}' of the journal is not segment {segment.Number} of load {load}");
            }
            rows += (await reader.VerifyAsync(cancellationToken)).Rows;
            progress?.Report(rows);
        }
        if (rows != entry.LastPosition)
            throw new JournalConflictException(
                $"the journal has {rows} rows of load {load}, but the database counts {entry.LastPosition}");
        return rows;
    }

    private static string Found(JournaledLoad? logged) => logged?.State switch
    {
        null => "has no blob of the load",
        JournaledState.Removed => "says that the load was removed",
        JournaledState.Begun => "has no document of the load",
        _ => "describes another load",
    };
}
