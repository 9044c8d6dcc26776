using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

namespace HibpIngest.Passwords.Import;

/// <summary>
/// Distributes hashes over 4,096 buckets by their first three hex digits. A full buffer is appended to one file as a chunk
/// (<see cref="ChunkPlace"/>), in the memory layout of <see cref="HashCount"/>. Nothing written is changed, so truncating the file undoes
/// everything after an earlier length.
/// </summary>
/// <param name="file">The spool file; writing starts at <paramref name="length"/>.</param>
/// <param name="directory">Directory of the chunks; updated with each chunk.</param>
/// <param name="modes">Number of hash modes. Rows are interleaved: row i belongs to mode i % modes.</param>
/// <param name="bufferBytes">Memory for all buffers together.</param>
internal sealed class HashSpool(SafeFileHandle file, long length, SpoolDirectory directory, int modes, long bufferBytes)
{
    public const int Buckets = 1 << 12;
    public const int PrefixesPerBucket = HashModes.Ranges / Buckets;

    // Larger chunks don't make reading faster.
    private const int MaxRowsPerBuffer = 4_096;
    private const int MinRowsPerBuffer = 16;
    private const int OutputBytes = 1 << 20;

    private readonly int _modes = modes;
    private readonly int _rowsPerBuffer = RowsPerBuffer(modes, bufferBytes);
    private readonly HashCount[] _buffers = GC.AllocateUninitializedArray<HashCount>(Buckets * modes * RowsPerBuffer(modes, bufferBytes));
    private readonly int[] _rowsInBuffer = new int[Buckets * modes];
    private readonly byte[] _output = GC.AllocateUninitializedArray<byte>(OutputBytes);
    private int _outputLength;
    private long _written = length;

    /// <summary>Length of the file, including output that is not written yet.</summary>
    public long Length => _written + _outputLength;

    public void Add(ReadOnlySpan<HashCount> rows)
    {
        if (_modes == 1)
        {
            foreach (ref readonly var row in rows)
                Add(row.Prefix / PrefixesPerBucket, row);
            return;
        }
        for (var i = 0; i < rows.Length; i++)
            Add((i % _modes * Buckets) + (rows[i].Prefix / PrefixesPerBucket), rows[i]);
    }

    /// <summary>Writes all buffered rows to the file. It doesn't flush the file to disk.</summary>
    public void Flush()
    {
        for (var bucket = 0; bucket < _rowsInBuffer.Length; bucket++)
        {
            if (_rowsInBuffer[bucket] > 0)
                Append(bucket);
        }
        WriteOutput();
    }

    private static int RowsPerBuffer(int modes, long bufferBytes) =>
        (int)Math.Clamp(bufferBytes / (Buckets * modes) / ChunkPlace.RowBytes, MinRowsPerBuffer, MaxRowsPerBuffer);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private void Add(int bucket, in HashCount row)
    {
        var filled = _rowsInBuffer[bucket];
        _buffers[(bucket * _rowsPerBuffer) + filled] = row;
        _rowsInBuffer[bucket] = ++filled;
        if (filled == _rowsPerBuffer)
            Append(bucket);
    }

    private void Append(int bucket)
    {
        var rows = _rowsInBuffer[bucket];
        ref var entry = ref directory[bucket];
        var bytes = ChunkPlace.LinkBytes + (rows * ChunkPlace.RowBytes);
        if (_outputLength + bytes > _output.Length)
            WriteOutput();
        var place = new ChunkPlace(Length, rows);
        var chunk = _output.AsSpan(_outputLength, bytes);
        BinaryPrimitives.WriteInt64LittleEndian(chunk, entry.Last.Offset);
        BinaryPrimitives.WriteInt32LittleEndian(chunk[8..], entry.Last.Rows);
        BinaryPrimitives.WriteInt32LittleEndian(chunk[12..], bucket);
        MemoryMarshal.AsBytes(_buffers.AsSpan(bucket * _rowsPerBuffer, rows)).CopyTo(chunk[ChunkPlace.LinkBytes..]);
        _outputLength += bytes;
        entry = new SpoolDirectory.Entry(place, entry.Rows + rows);
        _rowsInBuffer[bucket] = 0;
    }

    private void WriteOutput()
    {
        RandomAccess.Write(file, _output.AsSpan(0, _outputLength), _written);
        _written += _outputLength;
        _outputLength = 0;
    }
}
