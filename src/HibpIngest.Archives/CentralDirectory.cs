using System.Buffers;

namespace HibpIngest.Archives;

/// <summary>Reads the central directory with one chunk in memory: a hostile archive may have millions of entries.</summary>
/// <param name="entries">The number in the end record; checked against the records while they are read.</param>
/// <param name="shift">Bytes prepended to the zip, such as a self-extractor's program, which its offsets don't include.</param>
internal sealed class CentralDirectory(Stream archive, byte[] chunk, long start, long size, int entries, long shift) : IDisposable
{
    private const int EndBytes = 22;
    private const int Zip64LocatorBytes = 20;
    private const int Zip64EndBytes = 56;

    /// <summary>Several times the longest record (196,651 bytes); each chunk costs the archive's stream two seeks.</summary>
    private const int ChunkBytes = 1 << 20;

    private readonly long _end = start + size;
    private byte[] _chunk = chunk;
    private long _chunkStart;
    private int _chunkCount;
    private long _next = start;
    private int _ordinal;

    public int Entries => entries;

    public long Start { get; } = start;

    public long Shift => shift;

    public static CentralDirectory Find(Stream archive, ArchiveLimits limits)
    {
        var length = archive.Length;
        if (length == 0)
            throw new BadArchiveException("not a zip: the file is empty (0 bytes); drop the archive again");
        var chunk = ArrayPool<byte>.Shared.Rent(ChunkBytes);
        try
        {
            return Find(archive, length, limits, chunk);
        }
        catch
        {
            ArrayPool<byte>.Shared.Return(chunk);
            throw;
        }
    }

    public void Rewind() => (_next, _ordinal) = (Start, 0);

    /// <summary>The record is valid until the next call. Must not be called after the last.</summary>
    public ReadOnlySpan<byte> Next()
    {
        var header = Window(ZipHeader.CentralBytes);
        if (header.Length < ZipHeader.CentralBytes || BinaryPrimitives.ReadUInt32LittleEndian(header) != ZipHeader.CentralSignature)
            throw Damaged($"the central directory ends before entry {_ordinal + 1} of {Entries}");
        var length = ZipHeader.CentralBytes + ZipHeader.CentralVariableBytes(header);
        header = Window(length);
        if (header.Length < length)
            throw Damaged($"the central directory ends within entry {_ordinal + 1} of {Entries}");
        _next += length;
        _ordinal++;
        return header[..length];
    }

    /// <summary>There must be no more records than the end record says, as without ZIP64 past 65,535.</summary>
    public void CheckEnd()
    {
        var rest = Window(4);
        if (rest.Length >= 4 && BinaryPrimitives.ReadUInt32LittleEndian(rest) == ZipHeader.CentralSignature)
        {
            throw new BadArchiveException(
                $"the archive says it has {Entries} entries and has more: it is damaged, or was made without ZIP64; unpack it and zip it "
                + "again");
        }
    }

    public void Dispose()
    {
        if (_chunk.Length == 0)
            return;
        ArrayPool<byte>.Shared.Return(_chunk);
        _chunk = [];
        _chunkCount = 0;
    }

    private static CentralDirectory Find(Stream archive, long length, ArchiveLimits limits, byte[] chunk)
    {
        var tailBytes = (int)Math.Min(length, EndBytes + ushort.MaxValue + Zip64LocatorBytes);
        var tail = chunk.AsSpan(0, tailBytes);
        ReadAt(archive, length - tailBytes, tail);
        var endInTail = FindEnd(tail, out var reachesEnd);
        if (endInTail < 0)
            throw NoEnd(archive, length);
        var end = tail[endInTail..];
        var endAt = length - tailBytes + endInTail;
        int disk = BinaryPrimitives.ReadUInt16LittleEndian(end[4..]);
        ulong entries = BinaryPrimitives.ReadUInt16LittleEndian(end[10..]);
        ulong size = BinaryPrimitives.ReadUInt32LittleEndian(end[12..]);
        ulong offset = BinaryPrimitives.ReadUInt32LittleEndian(end[16..]);
        var needsZip64 = disk == ushort.MaxValue || entries == ushort.MaxValue || size == uint.MaxValue || offset == uint.MaxValue;
        var directoryEnd = endAt;

        if (endInTail >= Zip64LocatorBytes
            && BinaryPrimitives.ReadUInt32LittleEndian(tail[(endInTail - Zip64LocatorBytes)..]) == ZipHeader.Zip64LocatorSignature)
        {
            var locatorAt = endAt - Zip64LocatorBytes;
            var stated = BinaryPrimitives.ReadInt64LittleEndian(tail[(endInTail - Zip64LocatorBytes + 8)..]);
            Span<byte> zip64 = stackalloc byte[Zip64EndBytes];
            // At the locator's offset, or, if data was prepended, directly before the locator.
            foreach (var at in (ReadOnlySpan<long>)[stated, locatorAt - Zip64EndBytes])
            {
                if (at < 0 || at > locatorAt - Zip64EndBytes)
                    continue;
                ReadAt(archive, at, zip64);
                if (BinaryPrimitives.ReadUInt32LittleEndian(zip64) != ZipHeader.Zip64EndSignature)
                    continue;
                disk = BinaryPrimitives.ReadInt32LittleEndian(zip64[16..]);
                entries = BinaryPrimitives.ReadUInt64LittleEndian(zip64[32..]);
                size = BinaryPrimitives.ReadUInt64LittleEndian(zip64[40..]);
                offset = BinaryPrimitives.ReadUInt64LittleEndian(zip64[48..]);
                directoryEnd = at;
                needsZip64 = false;
                break;
            }
            if (needsZip64)
                throw Damaged("its ZIP64 end record is not where its locator says");
        }
        if (disk != 0 && !needsZip64)
            throw new BadArchiveException("one part of a split archive: join the parts (zip -s 0) and drop the whole");
        if (entries > (ulong)limits.MaxEntries)
        {
            throw new BadArchiveException(
                $"the archive says it has {entries:N0} entries, at most {limits.MaxEntries:N0} are read (limit MaxEntries); if you "
                + "trust the archive, raise HIBP_LIMITS__MAXENTRIES");
        }
        if (size > (ulong)directoryEnd || offset > (ulong)length || size / ZipHeader.CentralBytes < entries)
            throw Damaged($"its end record says {entries:N0} entries in {size:N0} bytes at {offset:N0}, which can't be in a file of "
                + $"{length:N0} bytes");
        if (entries == 0)
        {
            return size == 0 ? new CentralDirectory(archive, chunk, directoryEnd, 0, 0, 0)
                : throw Damaged($"its end record says no entries in {size:N0} bytes");
        }

        Span<byte> signature = stackalloc byte[4];
        // By its size before the end record, which tolerates prepended data; or by its offset, which is right if there is a gap.
        foreach (var start in (ReadOnlySpan<long>)[directoryEnd - (long)size, (long)offset])
        {
            if (start + (long)size > length)
                continue;
            ReadAt(archive, start, signature);
            if (BinaryPrimitives.ReadUInt32LittleEndian(signature) != ZipHeader.CentralSignature)
                continue;
            var shift = start - (long)offset;
            if (shift != 0)
            {
                // The end record may belong to a nested zip, stored near the end of an archive that was cut off after it.
                ReadAt(archive, 0, signature);
                if (!reachesEnd || BinaryPrimitives.ReadUInt32LittleEndian(signature) == ZipHeader.LocalSignature)
                    throw Damaged("its end record belongs to a zip that begins later in the file: truncated");
            }
            return new CentralDirectory(archive, chunk, start, (long)size, (int)entries, shift);
        }
        throw Damaged($"no central directory at {offset:N0}, where its end record says");
    }

    private static int FindEnd(ReadOnlySpan<byte> tail, out bool reachesEnd)
    {
        reachesEnd = true;
        var signature = "PK\u0005\u0006"u8;
        var lenient = -1;
        for (var at = tail.LastIndexOf(signature); at >= 0; at = tail[..at].LastIndexOf(signature))
        {
            if (tail.Length - at < EndBytes)
                continue;
            int comment = BinaryPrimitives.ReadUInt16LittleEndian(tail[(at + 20)..]);
            if (comment == tail.Length - at - EndBytes)
                return at; // A comment may hold the signature: prefer the record whose comment reaches the end of the file
            if (lenient < 0 && comment < tail.Length - at - EndBytes)
                lenient = at; // over one followed by other bytes, as a careless transfer leaves.
        }
        reachesEnd = false;
        return lenient;
    }

    private static BadArchiveException NoEnd(Stream archive, long length)
    {
        Span<byte> head = stackalloc byte[(int)Math.Min(length, BreachFile.HeadBytes)];
        ReadAt(archive, 0, head);
        if (head.StartsWith("PK\u0003\u0004"u8))
            return Damaged("it begins as a zip and has no end record: truncated");
        var found = FoundFormat.NameOf(head)
            ?? string.Create(CultureInfo.InvariantCulture, $"a file of {length:N0} bytes without a zip's end record");
        return new BadArchiveException($"not a zip: found {found}; give it the extension of its format, or put its files into a zip");
    }

    private static void ReadAt(Stream archive, long position, Span<byte> buffer)
    {
        archive.Position = position;
        if (archive.ReadAtLeast(buffer, buffer.Length, throwOnEndOfStream: false) < buffer.Length)
            throw Damaged($"the file ends before the {archive.Length:N0} bytes that the store reports");
    }

    private static BadArchiveException Damaged(string reason) =>
        new($"{reason}; the archive is damaged or incomplete: drop an intact copy");

    /// <summary>Returns at least the requested number of bytes, or all that are left.</summary>
    private ReadOnlySpan<byte> Window(int bytes)
    {
        ObjectDisposedException.ThrowIf(_chunk.Length == 0, this);
        var wanted = Math.Min(bytes, _end - _next);
        if (_next < _chunkStart || _next + wanted > _chunkStart + _chunkCount)
        {
            _chunkCount = 0;
            var count = (int)Math.Min(_chunk.Length, _end - _next);
            ReadAt(archive, _next, _chunk.AsSpan(0, count));
            (_chunkStart, _chunkCount) = (_next, count);
        }
        var from = (int)(_next - _chunkStart);
        return _chunk.AsSpan(from, Math.Min(_chunkCount - from, (int)Math.Min(int.MaxValue, _end - _next)));
    }
}
