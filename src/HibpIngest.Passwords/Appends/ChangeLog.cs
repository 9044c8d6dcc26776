using System.Buffers.Binary;
using System.Runtime.InteropServices;
using System.Text.Json;
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

    /// <summary>The default maximum of records read at once.</summary>
    private const int RecordsAtOnce = 1 << 18;

    private int _file;

    /// <summary>Records ranges that were just written.</summary>
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
        // Not an increment: of concurrent calls that fill a file, each would skip one, and readers stop at a gap.
        if (await blobs.AppendAsync(PasswordNames.Changes(release, file), bytes, cancellationToken) >= MaxBlocks)
            _file = file + 1;
    }

    /// <summary>Reads changes after a position, up to a maximum.</summary>
    /// <param name="most">The maximum number of records to read from each file.</param>
    /// <returns>The position after the last record read; the same one if there was nothing more.</returns>
    public async Task<ChangePlace> ReadAsync(
        ChangePlace from, Action<RangeChange> each, CancellationToken cancellationToken,
        int most = RecordsAtOnce)
    {
        var offsets = from.Offsets.ToList();
        // From the last but one: a writer may not have noticed yet that it is full.
        for (var file = Math.Max(1, offsets.Count - 1); ; file++)
        {
            var offset = file <= offsets.Count ? offsets[file - 1] : 0;
            var read = await blobs.ReadFromAsync(
                PasswordNames.Changes(release, file), offset, most * RecordBytes, cancellationToken);
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
        return new ChangePlace(offsets);
    }

    private static RangeChange Parse(ReadOnlySpan<byte> record)
    {
        var (time, prefix) = (BinaryPrimitives.ReadInt64LittleEndian(record), BinaryPrimitives.ReadInt32LittleEndian(record[8..]));
        return record[13] == RecordVersion && record[12] <= (byte)HashMode.Ntlm && prefix is >= 0 and < HashModes.Ranges
            ? new RangeChange((HashMode)record[12], prefix, time)
            : throw new StoreMismatchException("a list of changed ranges can't be read: a newer program or something else wrote it");
    }

    private async Task<int> FindLastAsync(CancellationToken cancellationToken)
    {
        var file = 1;
        while (await blobs.FindAsync(PasswordNames.Changes(release, file + 1), cancellationToken) is not null)
            file++;
        return file;
    }
}

/// <summary>A range that was added to.</summary>
/// <param name="Time">The time of the change, in milliseconds since 1970.</param>
[StructLayout(LayoutKind.Auto)]
internal readonly record struct RangeChange(HashMode Mode, int Prefix, long Time);

/// <summary>A position in a list of changes.</summary>
/// <param name="Offsets">For each of the list's files, the number of bytes before the position.</param>
internal sealed record ChangePlace(IReadOnlyList<long> Offsets)
{
    public static readonly ChangePlace Start = new([]);

    public bool IsAt(ChangePlace other) => Offsets.SequenceEqual(other.Offsets);

    /// <summary>Reads a recorded position; the beginning if none was recorded.</summary>
    public static async Task<(ChangePlace Place, string? ETag)> ReadAsync(
        IPasswordBlobs blobs, string name, CancellationToken cancellationToken) =>
        await blobs.ReadAsync(name, null, cancellationToken) is { } blob
            ? (JsonSerializer.Deserialize(blob.Bytes.Span, ChangeJson.Default.ChangePlace)!, blob.ETag) : (Start, null);

    /// <summary>Records the position, unless another process has changed the record since it was read.</summary>
    /// <returns>The record's new ETag; null if another process was first.</returns>
    public async Task<string?> WriteAsync(IPasswordBlobs blobs, string name, string? replaces, CancellationToken cancellationToken) =>
        await blobs.WriteAsync(
            name, PasswordContent.Json(JsonSerializer.SerializeToUtf8Bytes(this, ChangeJson.Default.ChangePlace)), replaces,
            cancellationToken);
}

[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase)]
[JsonSerializable(typeof(ChangePlace))]
internal sealed partial class ChangeJson : JsonSerializerContext;
