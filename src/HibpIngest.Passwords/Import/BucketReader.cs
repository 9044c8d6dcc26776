using System.Buffers.Binary;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

namespace HibpIngest.Passwords.Import;

/// <summary>Reads the hashes of a bucket, from the chunk that was written last to the first.</summary>
internal sealed class BucketReader
{
    private readonly SafeFileHandle _spool;
    private readonly long _length;
    private readonly int _bucket;
    private readonly byte[] _link = new byte[ChunkPlace.LinkBytes];
    private ChunkPlace _chunk;
    private ChunkPlace _next;
    private int _readOfChunk;

    public BucketReader(SafeFileHandle spool, long length, int bucket, SpoolDirectory.Entry entry)
    {
        _spool = spool;
        _length = length;
        _bucket = bucket;
        (_next, Left) = entry;
    }

    public long Left { get; private set; }

    public int Read(Span<HashCount> rows, CancellationToken token)
    {
        var filled = 0;
        while (Left > 0 && filled < rows.Length)
        {
            token.ThrowIfCancellationRequested();
            if (_readOfChunk == _chunk.Rows)
                ReconcileRestoredDatabase();
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

    private void ReconcileRestoredDatabase()
    {
        _chunk = _next;
        _readOfChunk = 0;
        Fill(_link, _chunk.Offset);
        _next = new ChunkPlace(BinaryPrimitives.ReadInt64LittleEndian(_link), BinaryPrimitives.ReadInt32LittleEndian(_link.AsSpan(8)));
        if (BinaryPrimitives.ReadInt32LittleEndian(_link.AsSpan(12)) != _bucket || !_next.IsWithin(_chunk.Offset))
            throw Damaged();
    }

    private void Fill(Span<byte> bytes, long offset)
    {
        if (offset < 0 || offset > _length - bytes.Length)
            throw Damaged();
        while (!bytes.IsEmpty)
        {
            var read = RandomAccess.Read(_spool, bytes, offset);
            if (read == 0)
                throw Damaged();
            bytes = bytes[read..];
            offset += read;
        }
    }

    private static IOException Damaged() =>
        new("expected the chunks of an import in its work folder, found something else; delete the folder and import again");
}
