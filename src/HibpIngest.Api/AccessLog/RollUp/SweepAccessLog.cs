namespace HibpIngest.Api.AccessLog.RollUp;

/// <summary>
/// Maintains the blobs of the access log: sends a message for each sealed blob, repeatedly until it is counted; seals the blobs of dead
/// processes; deletes blobs some time after they were counted. The next run completes or repeats an interrupted step.
/// </summary>
/// <param name="keptFor">Time for which a counted blob is kept; null to keep it forever.</param>
/// <param name="log">Receives blob names and counts only.</param>
public sealed partial class SweepAccessLog(
    IAccessBlobs blobs, IMessageQueues queues, TimeSpan? keptFor, TimeProvider time, ILogger<SweepAccessLog> log)
{
    /// <summary>
    /// Minimum pause before a blob's message is sent again. The pause is the time from the end of the blob's hour to the previous message,
    /// but at least this and at most <see cref="LateAfter"/>.
    /// </summary>
    public static readonly TimeSpan SendAgainAfter = TimeSpan.FromMinutes(10);

    /// <summary>
    /// An open blob belongs to a dead process if both the end of its hour and its last write are at least this long ago. A live process
    /// seals its blob with its first request in another hour, and begins a new one if somebody else sealed its blob.
    /// </summary>
    public static readonly TimeSpan GoneAfter = TimeSpan.FromMinutes(15);

    /// <summary>Time after the end of its hour at which an uncounted blob is logged as an error.</summary>
    public static readonly TimeSpan LateAfter = TimeSpan.FromDays(1);

    private static readonly byte[] End = AccessFrame.End(Guid.Empty);

    public async Task RunAsync(CancellationToken cancellationToken)
    {
        var (late, refused, reason) = (0, 0, "");
        await foreach (var listed in blobs.ListAsync(cancellationToken))
        {
            if (AccessBlobName.HourOf(listed.Name) is not { } hour)
                continue;
            try
            {
                late += await AdvanceAsync(listed, hour.AddHours(1), cancellationToken) ? 1 : 0;
            }
            catch (StoreRefusedException e)
            {
                // The blob is leased, has a snapshot or is not an append blob. Only it is affected, so the others are still processed.
                if (refused++ == 0)
                    reason = e.Message;
            }
        }
        if (late > 0)
            LogLate(late);
        if (refused > 0)
            LogRefused(refused, reason);
    }

    /// <returns>True if it is overdue to be counted.</returns>
    private async Task<bool> AdvanceAsync(AccessBlob listed, DateTimeOffset hourEnd, CancellationToken cancellationToken)
    {
        var now = time.GetUtcNow();
        var isAbandoned = listed.State == AccessBlobState.Open && now - hourEnd >= GoneAfter && now - listed.ModifiedAt >= GoneAfter;
        var blob = isAbandoned ? await EndAsync(listed, cancellationToken) : listed;
        if (blob is { State: AccessBlobState.Counted } && now - blob.ModifiedAt >= keptFor)
            await blobs.DeleteAsync(blob.Name, cancellationToken);
        if (blob is null or { State: AccessBlobState.Counted })
            return false;
        if (blob.State == AccessBlobState.Open)
            return isAbandoned && now - hourEnd >= LateAfter; // something prevents the blob from being sealed
        if (blob.SentAt is not { } sent || now - sent >= PauseAfter(sent - hourEnd))
        {
            await queues.SendAsync(new AccessMessage(blob.Name), TimeSpan.Zero, cancellationToken);
            // The blob is marked after sending: if it were marked first, a failed send would keep the next run from sending it.
            await blobs.MarkAsync(blob, AccessBlobState.Sealed, now, cancellationToken);
        }
        return now - hourEnd >= LateAfter;
    }

    /// <returns>The blob with its new state; null if there is nothing left to do.</returns>
    private async Task<AccessBlob?> EndAsync(AccessBlob blob, CancellationToken cancellationToken)
    {
        // Exactly after the listed content: a live process that appends later gets another position and begins another blob.
        if (await blobs.AppendAsync(blob.Name, blob.Bytes, End, cancellationToken) != BlockAppend.Appended)
            return blob; // the process is alive
        if (blob.Bytes == 0)
        {
            await blobs.DeleteAsync(blob.Name, cancellationToken);
            return null;
        }
        LogEnded(blob.Name);
        if (await blobs.FindAsync(blob.Name, cancellationToken) is not { } ended)
            return null;
        await blobs.MarkAsync(ended, AccessBlobState.Sealed, null, cancellationToken);
        return await blobs.FindAsync(blob.Name, cancellationToken);
    }

    private static TimeSpan PauseAfter(TimeSpan age) => age < SendAgainAfter ? SendAgainAfter : age > LateAfter ? LateAfter : age;

    [LoggerMessage(
        EventIds.SweepAccessEnded, LogLevel.Information, "access log blob {Blob}: sealed by Sweep, because its process no longer runs")]
    private partial void LogEnded(string blob);

    [LoggerMessage(
        EventIds.SweepAccessRefused, LogLevel.Error,
        "access log: {Count} blobs left unchanged because the store refused the request; first: {Reason}")]
    private partial void LogRefused(int count, string reason);

    [LoggerMessage(EventIds.SweepAccessLate, LogLevel.Error, "access log: {Count} blobs not counted after a day; see docs/operating.md")]
    private partial void LogLate(int count);
}
