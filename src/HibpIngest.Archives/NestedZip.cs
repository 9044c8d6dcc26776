using System.Buffers.Binary;

namespace HibpIngest.Archives;

/// <summary>
/// A zip within the archive, read forward from its local headers, since its central directory comes last. What
/// those don't tell is refused: where a stored or encrypted entry ends whose size follows it.
/// </summary>
internal sealed class NestedZip : IDisposable
{
    private readonly EntryName _entry;
    private readonly string? _password;
    private readonly InflationMeter _meter;
    private readonly ForwardReader _reader;

    /// <param name="content">Of the entry that holds the zip; stays open. What of it follows the last local
    /// entry is left unread.</param>
    public NestedZip(EntryContent content, string? password, InflationMeter meter)
    {
        _entry = content.Entry;
        _password = password;
        _meter = meter;
        _reader = new ForwardReader(content);
    }

    /// <summary>The next entry's content, to be read to its end before the next call; null after the last.</summary>
    public EntryContent? Next()
    {
        ReadOnlySpan<byte> header = _reader.Peek(ZipHeader.LocalBytes);
        var signature = header.Length < 4 ? 0 : BinaryPrimitives.ReadUInt32LittleEndian(header);
        if (signature is ZipHeader.CentralSignature or ZipHeader.EndSignature or ZipHeader.Zip64EndSignature)
            return null;
        if (header.IsEmpty)
            throw Damaged(_entry, "the zip within it is cut off: it has no central directory");
        if (signature != ZipHeader.LocalSignature)
            throw Damaged(_entry, "the zip within it has neither an entry nor its central directory where one should come");
        var size = header.Length < ZipHeader.LocalBytes ? int.MaxValue : ZipHeader.LocalBytes + ZipHeader.LocalVariableBytes(header);
        if (size != int.MaxValue)
            header = _reader.Peek(size);
        if (header.Length < size)
            throw Damaged(_entry, "the zip within it is cut off within an entry's header");

        var local = ZipHeader.ParseLocal(header[..size]);
        var entry = _entry.Nested(ZipHeader.LocalName(header));
        _reader.Take(size);
        _meter.CountEntry(entry);
        var sizeFollows = local.HasDescriptor && local.CompressedBytes is 0 or uint.MaxValue;
        if (sizeFollows && local.Method == ZipHeader.Stored && !local.IsEncrypted && TakesEmpty())
            return new EntryContent(entry, Null, _meter, null, 0, static (_, _) => { }, maybePassword: false);

        ZipEntries.CheckReadable(local, entry, _password);
        if (sizeFollows && (local.IsEncrypted || local.Method == ZipHeader.Stored))
        {
            throw new BadArchiveException(
                $"{entry}: {(local.IsEncrypted ? "encrypted" : "stored")}, with its size behind it, so that a zip within a zip can't be "
                + "read forward past it; unpack the inner zip and zip its files");
        }
        if (sizeFollows)
        {
            var gauge = new IdleGauge(_meter, entry);
            var inflater = new ForwardInflater(_reader, gauge);
            return new EntryContent(
                entry, inflater, _meter, gauge, null,
                (crc, bytes) => TakeDescriptor(crc, inflater.CompressedBytes, bytes), maybePassword: false);
        }
        if (local.CompressedBytes < 0)
            throw Damaged(entry, "its header says a negative size");
        Action<uint, long>? atEnd = local.HasDescriptor
            ? (crc, bytes) => TakeDescriptor(local.HasCrc ? crc : 0, local.CompressedBytes, bytes) : null;
        return ZipEntries.Open(_reader, local, entry, _password, _meter, atEnd);
    }

    public void Dispose() => _reader.Dispose();

    private static Stream Null => Stream.Null;

    /// <summary>
    /// Whether what should be a stored entry of unknown size is followed at once by an empty one's descriptor,
    /// or by the next header.
    /// </summary>
    private bool TakesEmpty()
    {
        ReadOnlySpan<byte> next = _reader.Peek(4);
        if (next.Length >= 4 && BinaryPrimitives.ReadUInt32LittleEndian(next) is ZipHeader.LocalSignature or ZipHeader.CentralSignature)
            return true;
        var descriptor = DescriptorBytes(0, 0, 0);
        _reader.Take(descriptor);
        return descriptor > 0;
    }

    private void TakeDescriptor(uint crc, long compressedBytes, long bytes)
    {
        var size = DescriptorBytes(crc, compressedBytes, bytes);
        if (size == 0)
            throw new DamagedDataException(
                $"the CRC-32 and sizes that follow it are not those of its data ({crc:X8}, {compressedBytes:N0}, {bytes:N0})");
        _reader.Take(size);
    }

    /// <summary>
    /// Length of the data descriptor that says these; 0: none does. Its signature is optional, and whether its
    /// sizes have 32 or 64 bits can't be told from the local header of every writer, but what it must say is
    /// known by now.
    /// </summary>
    private int DescriptorBytes(uint crc, long compressedBytes, long bytes)
    {
        ReadOnlySpan<byte> next = _reader.Peek(24);
        foreach (var skipped in (ReadOnlySpan<int>)[4, 0])
        {
            if (next.Length < skipped + 12
                || (skipped > 0 && BinaryPrimitives.ReadUInt32LittleEndian(next) != ZipHeader.DescriptorSignature))
                continue;
            var fields = next[skipped..];
            if (BinaryPrimitives.ReadUInt32LittleEndian(fields) != crc)
                continue;
            if (fields.Length >= 20 && BinaryPrimitives.ReadInt64LittleEndian(fields[4..]) == compressedBytes
                && BinaryPrimitives.ReadInt64LittleEndian(fields[12..]) == bytes)
            {
                return skipped + 20;
            }
            if (BinaryPrimitives.ReadUInt32LittleEndian(fields[4..]) == (uint)compressedBytes
                && BinaryPrimitives.ReadUInt32LittleEndian(fields[8..]) == (uint)bytes)
            {
                return skipped + 12;
            }
        }
        return 0;
    }

    private static BadArchiveException Damaged(EntryName entry, string reason) =>
        new($"{entry}: {reason}; the archive is damaged or incomplete: drop an intact copy");
}
