using System.Buffers.Binary;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

namespace HibpIngest.Passwords.Import;

/// <summary>
/// Spreads hashes over buckets by their first three digits. Full buffers are appended to one file as chunks (<see cref="ChunkPlace"/>) in
/// memory layout. Nothing written is changed, so truncating the file undoes everything after an earlier length.
/// </summary>
/// <param name="file">Written from <paramref name="length"/> on.</param>
/// <param name="directory">Describes the chunks before that.</param>
/// <param name="modes">The rows come in groups of this many, one per mode.</param>
internal sealed class HashSpool(SafeFileHandle file, long length, SpoolDirectory directory, int modes, long bufferBytes)
{
    public const int Buckets = 1 << 12;
    public const int PrefixesOfBucket = HashModes.Ranges / Buckets;

    // Larger chunks don't make reading faster.
    private const int MaxRowsOfBuffer = 4_096;
    private const int MinRowsOfBuffer = 16;
    private const int OutputBytes = 1 << 20;

    private readonly int _modes = modes;
    private readonly int _rowsOfBuffer = RowsOfBuffer(modes, bufferBytes);
    private readonly HashCount[] _buffers = GC.AllocateUninitializedArray<HashCount>(Buckets * modes * RowsOfBuffer(modes, bufferBytes));
    private readonly int[] _filled = new int[Buckets * modes];
    private readonly byte[] _output = GC.AllocateUninitializedArray<byte>(OutputBytes);
    private int _inOutput;
    private long _written = length;

    /// <summary>Length of the file, including output that is not written yet.</summary>
    public long Length => _written + _inOutput;

    public void Add(ReadOnlySpan<HashCount> rows)
    {
        if (_modes == 1)
        {
            foreach (ref readonly var row in rows)
                Add(row.Prefix / PrefixesOfBucket, row);
            return;
        }
        for (var i = 0; i < rows.Length; i++)
            Add((i % _modes * Buckets) + (rows[i].Prefix / PrefixesOfBucket), rows[i]);
    }

    /// <summary>Writes all buffered rows, though the file may still be in the system's cache.</summary>
    public void Flush()
    {
        for (var bucket = 0; bucket < _filled.Length; bucket++)
        {
            if (_filled[bucket] > 0)
                Append(bucket);
        }
        WriteOutput();
    }

    private static int RowsOfBuffer(int modes, long bufferBytes) =>
        (int)Math.Clamp(bufferBytes / (Buckets * modes) / ChunkPlace.RowBytes, MinRowsOfBuffer, MaxRowsOfBuffer);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private void Add(int bucket, in HashCount row)
    {
        var filled = _filled[bucket];
        _buffers[(bucket * _rowsOfBuffer) + filled] = row;
        _filled[bucket] = ++filled;
        if (filled == _rowsOfBuffer)
            Append(bucket);
    }

    private void Append(int bucket)
    {
        var rows = _filled[bucket];
        ref var entry = ref directory[bucket];
        var bytes = ChunkPlace.LinkBytes + (rows * ChunkPlace.RowBytes);
        if (_inOutput + bytes > _output.Length)
            WriteOutput();
        var place = new ChunkPlace(Length, rows);
        var chunk = _output.AsSpan(_inOutput, bytes);
        BinaryPrimitives.WriteInt64LittleEndian(chunk, entry.Last.Offset);
        BinaryPrimitives.WriteInt32LittleEndian(chunk[8..], entry.Last.Rows);
        BinaryPrimitives.WriteInt32LittleEndian(chunk[12..], bucket);
        MemoryMarshal.AsBytes(_buffers.AsSpan(bucket * _rowsOfBuffer, rows)).CopyTo(chunk[ChunkPlace.LinkBytes..]);
        _inOutput += bytes;
        entry = new SpoolDirectory.Entry(place, entry.Rows + rows);
        _filled[bucket] = 0;
    }

    private void WriteOutput()
    {
        RandomAccess.Write(file, _output.AsSpan(0, _inOutput), _written);
        _written += _inOutput;
        _inOutput = 0;
    }
}
