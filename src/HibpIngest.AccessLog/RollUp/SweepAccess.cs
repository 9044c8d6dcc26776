using HibpIngest.Errors;
using HibpIngest.Messages;
using HibpIngest.Stores;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.AccessLog;

/// <summary>
/// Looks after blobs of the access log: those that were ended get a message, and another one while they are not counted; those of
/// processes that are gone are ended; those that were counted a while ago go. Each step is found done, or done again, by the next run.
/// </summary>
/// <param name="keptFor">How long a blob is kept once it is counted; null: for ever.</param>
/// <param name="log">Counts only.</param>
public sealed partial class SweepAccess(
    IAccessBlobs blobs, IMessageQueues queues, TimeSpan? keptFor, TimeProvider time, ILogger<SweepAccess> log)
{
    /// <summary>
    /// How long after the last message there is another, or as long as it has taken until then, up to <see cref="LateAfter"/>.
    /// </summary>
    public static readonly TimeSpan SendAgainAfter = TimeSpan.FromMinutes(10);

    /// <summary>
    /// How long behind its hour nobody has written to a blob whose process is taken to be gone: one that lives ends its blob with its
    /// first request of another hour, and begins a new one if it comes too late.
    /// </summary>
    public static readonly TimeSpan GoneAfter = TimeSpan.FromMinutes(15);

    /// <summary>How long behind its hour a blob that is not counted is worth an error.</summary>
    public static readonly TimeSpan LateAfter = TimeSpan.FromDays(1);

    // Ends blobs in place of the processes that wrote them.
    private static readonly byte[] End = AccessFrame.End(Guid.Empty);

    public async Task RunAsync(CancellationToken cancellationToken)
    {
        var (late, refused, reason) = (0, 0, "");
        await foreach (var listed in blobs.ListAsync(cancellationToken))
        {
            // Something else's: left alone.
            if (AccessBlobName.HourOf(listed.Name) is not { } hour)
                continue;
            try
            {
                late += await IsLateAsync(listed, hour.AddHours(1), cancellationToken) ? 1 : 0;
            }
            catch (StoreRefusedException e)
            {
                // Leased, with a snapshot, no append blob any more: a matter of this blob's, and not of those behind it.
                if (refused++ == 0)
                    reason = e.Message;
            }
        }
        if (late > 0)
            LogLate(late);
        if (refused > 0)
            LogRefused(refused, reason);
    }

    /// <summary>Looks after a blob; whether it is not counted though it should have been long ago.</summary>
    private async Task<bool> IsLateAsync(AccessBlob listed, DateTimeOffset over, CancellationToken cancellationToken)
    {
        var now = time.GetUtcNow();
        var isGone = listed.State == AccessBlobState.Open && now - over >= GoneAfter && now - listed.ModifiedAt >= GoneAfter;
        var blob = isGone ? await EndAsync(listed, cancellationToken) : listed;
        if (blob is { State: AccessBlobState.Counted } && now - blob.ModifiedAt >= keptFor)
            await blobs.DeleteAsync(blob.Name, cancellationToken);
        if (blob is null or { State: AccessBlobState.Counted })
            return false;
        if (blob.State == AccessBlobState.Open)
            return isGone && now - over >= LateAfter; // somebody else keeps it from being ended
        if (blob.SentAt is not { } sent || now - sent >= PauseAfter(sent - over))
        {
            await queues.SendAsync(new AccessMessage(blob.Name), TimeSpan.Zero, cancellationToken);
            // Behind the message: one that says too much would keep the next run from sending it.
            await blobs.MarkAsync(blob, AccessBlobState.Sealed, now, cancellationToken);
        }
        return now - over >= LateAfter;
    }

    /// <summary>Ends a blob for a process that is gone; it as it is then, and null where there is nothing to be done with it.</summary>
    private async Task<AccessBlob?> EndAsync(AccessBlob blob, CancellationToken cancellationToken)
    {
        // Exactly behind what was listed: a process that lives, and appends after this, is told so and begins another blob.
        if (await blobs.AppendAsync(blob.Name, blob.Bytes, End, cancellationToken) != BlockAppend.Appended)
            return blob; // it lives
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
        EventIds.SweepAccessEnded, LogLevel.Information, "blob {Blob} of the access log is ended: the process that wrote it is gone")]
    private partial void LogEnded(string blob);

    [LoggerMessage(
        EventIds.SweepAccessRefused, LogLevel.Error,
        "{Count} blobs of the access log are left as they are, as the store refuses what is to be done with them; the first: {Reason}")]
    private partial void LogRefused(int count, string reason);

    [LoggerMessage(
        EventIds.SweepAccessLate, LogLevel.Error,
        "{Count} blobs of the access log are not counted after a day: docs/operating.md says why that may be")]
    private partial void LogLate(int count);
}
