using System.Buffers.Binary;
using System.Runtime.InteropServices;
using System.Text.Json;
using System.Text.Json.Serialization;
using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.Passwords;

/// <summary>
/// Which ranges of a release were added to, in the order in which that came: append blobs of 16-byte records, each written when its
/// range was (docs/passwords.md). A record may be there twice.
/// </summary>
internal sealed class ChangeLog(IPasswordBlobs blobs, ReleaseKey release)
{
    public const int RecordBytes = 16;

    // The service takes 50,000; who has not seen that a file is full adds once to it at most.
    private const int MostBlocks = 45_000;

    private const byte RecordVersion = 1;

    /// <summary>Records that are read at once, where nothing else is said.</summary>
    private const int RecordsAtOnce = 1 << 18;

    private int _file;

    /// <summary>Notes ranges that were just written.</summary>
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
        if (await blobs.AppendAsync(PasswordNames.Changes(release, _file), bytes, cancellationToken) >= MostBlocks)
            _file++;
    }

    /// <summary>Reads what came behind a place, at most some of it.</summary>
    /// <param name="most">Records that are read at most, of each file.</param>
    /// <returns>The place behind what was read: the same where there was nothing more.</returns>
    public async Task<ChangePlace> ReadAsync(
        ChangePlace from, Action<RangeChange> each, CancellationToken cancellationToken,
        int most = RecordsAtOnce)
    {
        var offsets = from.Offsets.ToList();
        // The last two: somebody may not have seen yet that one is full.
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
            // Another one follows only where this one has had its blocks, of a record each at least.
            if (file == offsets.Count && offsets[file - 1] < MostBlocks * RecordBytes)
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
/// <param name="Time">When, in milliseconds since 1970.</param>
[StructLayout(LayoutKind.Auto)]
internal readonly record struct RangeChange(HashMode Mode, int Prefix, long Time);

/// <summary>A place in a list of changes.</summary>
/// <param name="Offsets">How much of each of its files lies before it.</param>
internal sealed record ChangePlace(IReadOnlyList<long> Offsets)
{
    public static readonly ChangePlace Start = new([]);

    public bool IsAt(ChangePlace other) => Offsets.SequenceEqual(other.Offsets);

    /// <summary>Reads a place that was written down; the beginning where there is none.</summary>
    public static async Task<(ChangePlace Place, string? ETag)> ReadAsync(
        IPasswordBlobs blobs, string name, CancellationToken cancellationToken) =>
        await blobs.ReadAsync(name, null, cancellationToken) is { } blob
            ? (JsonSerializer.Deserialize(blob.Bytes.Span, ChangeJson.Default.ChangePlace)!, blob.ETag) : (Start, null);

    /// <summary>Writes it down, unless somebody else has.</summary>
    public async Task<string?> WriteAsync(IPasswordBlobs blobs, string name, string? replaces, CancellationToken cancellationToken) =>
        await blobs.WriteAsync(
            name, PasswordContent.Json(JsonSerializer.SerializeToUtf8Bytes(this, ChangeJson.Default.ChangePlace)), replaces,
            cancellationToken);
}

[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase)]
[JsonSerializable(typeof(ChangePlace))]
internal sealed partial class ChangeJson : JsonSerializerContext;
