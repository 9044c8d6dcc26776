using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

namespace HibpIngest.Passwords.Import;

/// <summary>The last chunk and the number of hashes of each bucket; each chunk points to the previous one.</summary>
internal sealed class SpoolDirectory(SpoolDirectory.Entry[] entries)
{
    private const int BytesOfBucket = 20;

    public SpoolDirectory(int buckets)
        : this([.. Enumerable.Repeat(new Entry(ChunkPlace.None, 0), buckets)])
    {
    }

    public ref Entry this[int bucket] => ref entries[bucket];

    public long Rows => entries.Sum(entry => entry.Rows);

    public long MaxRowsOfBucket => entries.Max(entry => entry.Rows);

    public static SpoolDirectory? Read(ReadOnlySpan<byte> bytes, int buckets, long spoolLength)
    {
        if (bytes.Length != buckets * BytesOfBucket)
            return null;
        var read = new Entry[buckets];
        foreach (ref var entry in read.AsSpan())
        {
            var last = new ChunkPlace(BinaryPrimitives.ReadInt64LittleEndian(bytes), BinaryPrimitives.ReadInt32LittleEndian(bytes[8..]));
            entry = new Entry(last, BinaryPrimitives.ReadInt64LittleEndian(bytes[12..]));
            if (!last.IsWithin(spoolLength) || (last == ChunkPlace.None) != (entry.Rows == 0) || entry.Rows < last.Rows)
                return null;
            bytes = bytes[BytesOfBucket..];
        }
        return new SpoolDirectory(read);
    }

    public byte[] ToBytes()
    {
        var bytes = new byte[entries.Length * BytesOfBucket];
        var rest = bytes.AsSpan();
        foreach (var entry in entries)
        {
            BinaryPrimitives.WriteInt64LittleEndian(rest, entry.Last.Offset);
            BinaryPrimitives.WriteInt32LittleEndian(rest[8..], entry.Last.Rows);
            BinaryPrimitives.WriteInt64LittleEndian(rest[12..], entry.Rows);
            rest = rest[BytesOfBucket..];
        }
        return bytes;
    }

    public record struct Entry(ChunkPlace Last, long Rows);
}

/// <param name="Offset">The offset of the chunk's link; negative if there is no chunk.</param>
internal readonly record struct ChunkPlace(long Offset, int Rows)
{
    /// <summary>A chunk begins with offset (8 bytes) and rows (4) of the previous one, and the bucket (4).</summary>
    public const int LinkBytes = 16;

    public static readonly ChunkPlace None = new(-1, 0);

    public static int RowBytes => Unsafe.SizeOf<HashCount>();

    public bool IsWithin(long length) =>
        this == None || (Offset >= 0 && Rows > 0 && Offset <= length - LinkBytes - ((long)Rows * RowBytes));
}

internal sealed class BucketReader(SafeFileHandle spool, long length, int bucket, SpoolDirectory.Entry entry)
{
    private readonly byte[] _link = new byte[ChunkPlace.LinkBytes];
    private ChunkPlace _chunk;
    private ChunkPlace _next = entry.Last;
    private int _readOfChunk;

    public long Left { get; private set; } = entry.Rows;

    public int Read(Span<HashCount> rows, CancellationToken token)
    {
        var filled = 0;
        while (Left > 0 && filled < rows.Length)
        {
            token.ThrowIfCancellationRequested();
            if (_readOfChunk == _chunk.Rows)
                MoveToNextChunk();
            var count = Math.Min(_chunk.Rows - _readOfChunk, rows.Length - filled);
            if (count <= 0 || count > Left)
                throw Damaged();
            Fill(
                MemoryMarshal.AsBytes(rows.Slice(filled, count)),
                _chunk.Offset + ChunkPlace.LinkBytes + ((long)_readOfChunk * ChunkPlace.RowBytes));
            filled += count;
            _readOfChunk += count;
            Left -= count;
        }
        return filled;
    }

    private void MoveToNextChunk()
    {
        _chunk = _next;
        _readOfChunk = 0;
        Fill(_link, _chunk.Offset);
        _next = new ChunkPlace(BinaryPrimitives.ReadInt64LittleEndian(_link), BinaryPrimitives.ReadInt32LittleEndian(_link.AsSpan(8)));
        if (BinaryPrimitives.ReadInt32LittleEndian(_link.AsSpan(12)) != bucket || !_next.IsWithin(_chunk.Offset))
            throw Damaged();
    }

    private void Fill(Span<byte> bytes, long offset)
    {
        if (offset < 0 || offset > length - bytes.Length)
            throw Damaged();
        while (!bytes.IsEmpty)
        {
            var read = RandomAccess.Read(spool, bytes, offset);
            if (read == 0)
                throw Damaged();
            bytes = bytes[read..];
            offset += read;
        }
    }

    private static IOException Damaged() =>
        new("the work folder of the import doesn't contain the import's chunks: delete the folder and import again");
}
