using System.Runtime.InteropServices;
using System.Text.Json.Serialization;

namespace HibpIngest.Passwords.Appends;

/// <summary>
/// The ranges of a release that were added to, in order of time: append blobs of 16-byte records, each written right after its range
/// (docs/passwords.md). A record may be there twice.
/// </summary>
internal sealed class ChangeLog(IPasswordBlobs blobs, ReleaseKey release)
{
    public const int RecordBytes = 16;

    // The service's limit is 50,000. A writer that has not noticed that a file is full appends to it at most once more.
    private const int MaxBlocks = 45_000;

    private const byte RecordVersion = 1;

    private const int RecordsAtOnce = 1 << 18;

    private int _file;

    public async Task AddAsync(HashMode mode, IReadOnlyCollection<int> prefixes, DateTimeOffset now, CancellationToken cancellationToken)
    {
        var bytes = new byte[prefixes.Count * RecordBytes];
        var record = bytes.AsSpan();
        foreach (var prefix in prefixes)
        {
            BinaryPrimitives.WriteInt64LittleEndian(record, now.ToUnixTimeMilliseconds());
            BinaryPrimitives.WriteInt32LittleEndian(record[8..], prefix);
            (record[12], record[13]) = ((byte)mode, RecordVersion);
            record = record[RecordBytes..];
        }
        if (_file == 0)
            _file = await FindLastAsync(cancellationToken);
        var file = _file;
        // The number is set, not incremented: concurrent calls that fill a file would each skip one, and readers stop at a gap.
        if (await blobs.AppendAsync(PasswordNames.Changes(release, file), bytes, cancellationToken) >= MaxBlocks)
            _file = file + 1;
    }

    /// <returns>The position after the last record read; the same one if there was nothing more.</returns>
    public async Task<ChangePosition> ReadAsync(
        ChangePosition from, Action<RangeChange> each, CancellationToken cancellationToken, int maxRecordsPerFile = RecordsAtOnce)
    {
        var offsets = from.Offsets.ToList();
        // From the last but one: a writer may not have noticed yet that it is full.
        for (var file = Math.Max(1, offsets.Count - 1); ; file++)
        {
            var offset = file <= offsets.Count ? offsets[file - 1] : 0;
            var read = await blobs.ReadFromAsync(
                PasswordNames.Changes(release, file), offset, maxRecordsPerFile * RecordBytes, cancellationToken);
            if (read is not { } bytes)
                break;
            var whole = bytes.Length / RecordBytes * RecordBytes;
            for (var at = 0; at < whole; at += RecordBytes)
                each(Parse(bytes.Span.Slice(at, RecordBytes)));
            if (file > offsets.Count)
                offsets.Add(0);
            offsets[file - 1] = offset + whole;
            // A further file exists only if this one has reached its maximum of blocks, each of at least one record.
            if (file == offsets.Count && offsets[file - 1] < MaxBlocks * RecordBytes)
                break;
        }
        return new ChangePosition(offsets);
    }

    /// <summary>Passes on the changes since a recorded position, in batches, and records the position after each.</summary>
    /// <returns>False if another process has changed the record.</returns>
    public async Task<bool> ProcessAsync(
        IPasswordBlobs records, string name, int maxRecords, Func<IReadOnlySet<(HashMode Mode, int Prefix)>, Task> process,
        CancellationToken cancellationToken)
    {
        var (position, etag) = await ChangePosition.ReadAsync(records, name, cancellationToken);
        while (true)
        {
            var changed = new HashSet<(HashMode Mode, int Prefix)>();
            var next = await ReadAsync(position, change => changed.Add((change.Mode, change.Prefix)), cancellationToken, maxRecords);
            if (next.IsAt(position))
                return true;
            await process(changed);
            etag = await records.WriteAsync(name, next, AppendJson.Default.ChangePosition, etag, cancellationToken);
            if (etag is null)
                return false;
            position = next;
        }
    }

    private static RangeChange Parse(ReadOnlySpan<byte> record)
    {
        var (time, prefix) = (BinaryPrimitives.ReadInt64LittleEndian(record), BinaryPrimitives.ReadInt32LittleEndian(record[8..]));
        return record[13] == RecordVersion && record[12] <= (byte)HashMode.Ntlm && prefix is >= 0 and < HashModes.Ranges
            ? new RangeChange((HashMode)record[12], prefix, time)
            : throw new StoreMismatchException(
                "the list of a release's changed ranges: expected records of a known version; a newer program wrote it, or it is damaged");
    }

    private async Task<int> FindLastAsync(CancellationToken cancellationToken)
    {
        var file = 1;
        while (await blobs.FindAsync(PasswordNames.Changes(release, file + 1), cancellationToken) is not null)
            file++;
        return file;
    }
}

/// <param name="Time">In milliseconds since 1970.</param>
[StructLayout(LayoutKind.Auto)]
internal readonly record struct RangeChange(HashMode Mode, int Prefix, long Time);

/// <param name="Offsets">For each of the list's files, the number of bytes before the position.</param>
internal sealed record ChangePosition(IReadOnlyList<long> Offsets)
{
    public static readonly ChangePosition Start = new([]);

    public bool IsAt(ChangePosition other) => Offsets.SequenceEqual(other.Offsets);

    public static async Task<(ChangePosition Position, string? ETag)> ReadAsync(
        IPasswordBlobs blobs, string name, CancellationToken cancellationToken) =>
        await blobs.ReadAsync(name, null, cancellationToken) is { } blob
            ? (JsonSerializer.Deserialize(blob.Bytes.Span, AppendJson.Default.ChangePosition)!, blob.ETag) : (Start, null);
}

[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase)]
[JsonSerializable(typeof(ChangePosition))]
[JsonSerializable(typeof(ReleaseHold))]
internal sealed partial class AppendJson : JsonSerializerContext;
