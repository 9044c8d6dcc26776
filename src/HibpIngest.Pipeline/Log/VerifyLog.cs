using HibpIngest.AccountLog;
using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>Reads what the account log has of a load back, every byte, and compares it with what SQL says of that load.</summary>
public sealed class VerifyLog(ILoadLog log, IDatabaseSetup database, IAccountLogBlobs blobs)
{
    /// <summary>Returns where nothing is missing: the log is then as good as the rows.</summary>
    /// <param name="load">Id of a load that counts.</param>
    /// <param name="progress">Told of the rows that were read.</param>
    /// <returns>Rows that the log has of it.</returns>
    /// <exception cref="NotPossibleException">No such load, or it is not logged, or not all of it.</exception>
    /// <exception cref="LogConflictException">The log tells something else of it.</exception>
    /// <exception cref="DamagedSegmentException">A segment is damaged, or missing.</exception>
    public async Task<long> RunAsync(long load, IProgress<long>? progress, CancellationToken cancellationToken)
    {
        var entry = await log.GetLogEntryAsync(load, cancellationToken)
            ?? throw new NotPossibleException($"there is no load {load}; see: hibp status");
        if (!entry.IsLogged)
        {
            throw new NotPossibleException(
                $"load {load} of {entry.Breach.Name} is not in the account log, or not as it is by now: a host writes it, and so does: "
                + $"hibp log write --load {load}");
        }
        var store = (await database.GetIdentityAsync(cancellationToken))!.Id;
        var folder = LogNames.Folder(entry);
        var logged = await LogManifest.FindAsync(blobs, folder, cancellationToken);
        if (logged is not { State: LoggedState.Counts, Document: { } document } || !document.IsOfSameLoad(LoadDocument.Of(entry, store)))
        {
            throw new LogConflictException($"folder '{folder}' of the account log {Found(logged)}, and the database has it as logged: was "
                + "one of the two restored, or changed by hand?");
        }
        var rows = 0L;
        foreach (var segment in entry.Segments)
        {
            await using var reader = await SegmentReader.OpenAsync(blobs, LogNames.Segment(folder, segment.First), cancellationToken);
            if (!SegmentCopy.IsOf(reader.Facts, SegmentCopy.Facts(entry, store, segment)))
            {
                throw new LogConflictException(
                    $"'{reader.Name}' of the account log is of something else than load {load}'s segment {segment.Number}");
            }
            rows += (await reader.VerifyAsync(cancellationToken)).Rows;
            progress?.Report(rows);
        }
        if (rows != entry.LastPosition)
            throw new LogConflictException($"the account log has {rows} rows of load {load}, and the database counts {entry.LastPosition}");
        return rows;
    }

    private static string Found(LoggedLoad? logged) => logged?.State switch
    {
        null => "has nothing of it",
        LoggedState.Removed => "says that it was removed",
        LoggedState.Begun => "has no document of it",
        _ => "tells of another load",
    };
}
