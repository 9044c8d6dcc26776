using System.Runtime.InteropServices;

namespace HibpIngest.Api.AccessLog.RollUp;

/// <summary>
/// Counts the records of a sealed blob by hour, route, status and key. The rows are keyed by the blob and computed from it alone, so a
/// redelivery writes the same rows again, or finds the blob counted and does nothing. <see cref="SweepAccessLog"/> resends lost messages.
/// </summary>
/// <param name="log">Receives blob names and counts only.</param>
public sealed partial class RollUpAccess(IAccessBlobs blobs, IUsageTable usage, ILogger<RollUpAccess> log)
    : IMessageStage<AccessMessage>
{
    private const long MicrosecondsPerHour = 3_600_000_000;

    /// <inheritdoc/>
    /// <exception cref="StoreMismatchException">The blob is damaged, or another program wrote it.</exception>
    public async Task RunAsync(AccessMessage message, CancellationToken cancellationToken)
    {
        // A missing blob was counted long ago. An open one is still being written; Sweep sends a message once it is sealed.
        if (await blobs.FindAsync(message.Blob, cancellationToken) is not { State: AccessBlobState.Sealed } blob)
            return;
        await using var content = await blobs.OpenAsync(blob.Name, 0, cancellationToken);
        if (content is null)
            return;
        var counts = await CountAsync(blob, content, cancellationToken);
        var rows = counts.Select(one => one.Value.ToRow(one.Key)).ToList();
        await usage.WriteAsync(blob.Name, rows, cancellationToken);
        // The blob is marked after its rows are written, since a marked blob isn't counted again. If marking fails, the blob is
        // marked already, or Sweep sends it again.
        await blobs.MarkAsync(blob, AccessBlobState.Counted, blob.SentAt, cancellationToken);
        LogCounted(blob.Name, rows.Sum(row => row.Requests), rows.Count);
    }

    private static async Task<Dictionary<Counted, Count>> CountAsync(AccessBlob blob, Stream content, CancellationToken cancellationToken)
    {
        var counts = new Dictionary<Counted, Count>();
        try
        {
            var isSealed = await AccessLogReader.ReadAsync(
                content,
                (Guid _, ulong _, string route, in AccessRecord record) =>
                {
                    var counted = new Counted(record.Microseconds / MicrosecondsPerHour, route, record.Status, record.Key);
                    CollectionsMarshal.GetValueRefOrAddDefault(counts, counted, out _).Add(record);
                },
                cancellationToken);
            return isSealed ? counts : throw new StoreMismatchException("it is sealed but truncated");
        }
        catch (StoreMismatchException e)
        {
            throw new StoreMismatchException(
                $"blob '{blob.Name}' of the access log is not counted: {e.Message}. Its records stay where they are; "
                + "see docs/operating.md#troubleshooting");
        }
    }

    [LoggerMessage(
        EventIds.RollUpAccessCounted, LogLevel.Information, "access log blob {Blob}: counted ({Requests} requests in {Rows} rows)")]
    private partial void LogCounted(string blob, long requests, int rows);

    /// <summary>The hour is counted from 1970.</summary>
    private readonly record struct Counted(long Hour, string Route, ushort Status, ulong Key);

    private struct Count
    {
        private long _requests;
        private long _bytes;
        private long _microseconds;
        private uint _longest;

        public void Add(in AccessRecord record)
        {
            _requests++;
            _bytes += record.Bytes == AccessRecord.UnknownBytes ? 0 : record.Bytes;
            _microseconds += record.DurationMicroseconds;
            _longest = Math.Max(_longest, record.DurationMicroseconds);
        }

        public readonly UsageRow ToRow(Counted of) => new(
            DateTimeOffset.UnixEpoch.AddHours(of.Hour), of.Route, of.Status, new AccessRecord { Key = of.Key }.KeyText)
        {
            Requests = _requests,
            Bytes = _bytes,
            Microseconds = _microseconds,
            LongestMicroseconds = _longest,
        };
    }
}

[Queue(QueueNames.AccessRollUp)]
public sealed record AccessMessage(string Blob) : WorkMessage
{
    protected override bool IsComplete() => Blob is { Length: > 0 };
}
