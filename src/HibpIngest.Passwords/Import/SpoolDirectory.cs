using System.Buffers.Binary;

namespace HibpIngest.Passwords.Import;

/// <summary>
/// For each bucket, the position of its last chunk in the spool and its number of hashes. Each chunk points to the previous one, so this is
/// all that is held in memory, however much is spooled.
/// </summary>
internal sealed class SpoolDirectory
{
    private const int BytesOfBucket = 20;

    private readonly Entry[] _entries;

    public SpoolDirectory(int buckets)
    {
        _entries = new Entry[buckets];
        Array.Fill(_entries, new Entry(ChunkPlace.None, 0));
    }

    private SpoolDirectory(Entry[] entries) => _entries = entries;

    public ref Entry this[int bucket] => ref _entries[bucket];

    public long Rows => _entries.Sum(entry => entry.Rows);

    public long MaxRowsOfBucket => _entries.Max(entry => entry.Rows);

    /// <returns>Null if the bytes are not a valid directory.</returns>
    public static SpoolDirectory? Read(ReadOnlySpan<byte> bytes, int buckets, long spoolLength)
    {
        if (bytes.Length != buckets * BytesOfBucket)
            return null;
        var entries = new Entry[buckets];
        foreach (ref var entry in entries.AsSpan())
        {
            var last = new ChunkPlace(BinaryPrimitives.ReadInt64LittleEndian(bytes), BinaryPrimitives.ReadInt32LittleEndian(bytes[8..]));
            entry = new Entry(last, BinaryPrimitives.ReadInt64LittleEndian(bytes[12..]));
            if (!last.IsWithin(spoolLength) || (last == ChunkPlace.None) != (entry.Rows == 0) || entry.Rows < last.Rows)
                return null;
            bytes = bytes[BytesOfBucket..];
        }
        return new SpoolDirectory(entries);
    }

    public byte[] ToBytes()
    {
        var bytes = new byte[_entries.Length * BytesOfBucket];
        var rest = bytes.AsSpan();
        foreach (var entry in _entries)
        {
            BinaryPrimitives.WriteInt64LittleEndian(rest, entry.Last.Offset);
            BinaryPrimitives.WriteInt32LittleEndian(rest[8..], entry.Last.Rows);
            BinaryPrimitives.WriteInt64LittleEndian(rest[12..], entry.Rows);
            rest = rest[BytesOfBucket..];
        }
        return bytes;
    }

    internal record struct Entry(ChunkPlace Last, long Rows);
}
