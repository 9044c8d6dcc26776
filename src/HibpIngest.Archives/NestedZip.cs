namespace HibpIngest.Archives;

/// <summary>Reads a zip forward by its local headers. Refuses a stored or encrypted entry whose size follows the data.</summary>
/// <param name="content">The zip; not disposed. Content after the last local entry is left unread.</param>
internal sealed class NestedZip(EntryContent content, string? password, InflationMeter meter) : IDisposable
{
    private readonly EntryName _entry = content.Entry;
    private readonly ForwardReader _reader = new(content);

    /// <returns>The next entry's content, which must be read to its end before the next call; null after the last.</returns>
    public EntryContent? Next()
    {
        ReadOnlySpan<byte> header = _reader.Peek(ZipHeader.LocalBytes);
        var signature = header.Length < 4 ? 0 : BinaryPrimitives.ReadUInt32LittleEndian(header);
        if (signature is ZipHeader.CentralSignature or ZipHeader.EndSignature or ZipHeader.Zip64EndSignature)
            return null;
        if (header.IsEmpty)
            throw BadArchiveException.Damaged(_entry, "the zip within it is cut off: it has no central directory");
        if (signature != ZipHeader.LocalSignature)
        {
            throw BadArchiveException.Damaged(
                _entry, "the zip within it is damaged: expected an entry or the central directory, found other data");
        }
        if (header.Length < ZipHeader.LocalBytes)
            throw CutOffInHeader();
        var size = ZipHeader.LocalBytes + ZipHeader.LocalVariableBytes(header);
        header = _reader.Peek(size);
        if (header.Length < size)
            throw CutOffInHeader();

        var local = ZipHeader.ParseLocal(header[..size]);
        var entry = _entry.Nested(ZipHeader.LocalName(header));
        _reader.Take(size);
        meter.CountEntry(entry);
        var sizeFollows = local.HasDescriptor && local.CompressedBytes is 0 or uint.MaxValue;
        if (sizeFollows && local.Method == ZipHeader.Stored && !local.IsEncrypted && TryTakeEmpty())
            return new EntryContent(entry, Stream.Null, meter);

        ZipEntries.CheckReadable(local, entry, password);
        if (sizeFollows && (local.IsEncrypted || local.Method == ZipHeader.Stored))
        {
            throw new BadArchiveException(
                $"{entry}: the size of this {(local.IsEncrypted ? "encrypted" : "stored")} entry follows its data, so its end can't be "
                + "found in a nested zip; unpack the inner zip and drop its files in one zip");
        }
        if (sizeFollows)
        {
            var gauge = new IdleGauge(meter, entry);
            var inflater = new ForwardInflater(_reader, gauge);
            return new EntryContent(
                entry, inflater, meter, gauge, atEnd: (crc, bytes) => TakeDescriptor(crc, inflater.CompressedBytes, bytes));
        }
        if (local.CompressedBytes < 0)
            throw BadArchiveException.Damaged(entry, "its header has a negative size");
        Action<uint, long>? atEnd = local.HasDescriptor
            ? (crc, bytes) => TakeDescriptor(local.HasCrc ? crc : 0, local.CompressedBytes, bytes) : null;
        return ZipEntries.Open(_reader, local, entry, password, meter, atEnd);
    }

    public void Dispose() => _reader.Dispose();

    private BadArchiveException CutOffInHeader() =>
        BadArchiveException.Damaged(_entry, "the zip within it is cut off within an entry's header");

    /// <returns>True if a stored entry of unknown size is empty: its descriptor or the next header follows at once.</returns>
    private bool TryTakeEmpty()
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
                $"its data descriptor doesn't match its data: expected CRC-32 {crc:X8}, {compressedBytes:N0} compressed and {bytes:N0} "
                + "inflated bytes");
        _reader.Take(size);
    }

    /// <summary>The signature is optional and sizes have 32 or 64 bits, so every form is tried with the expected values.</summary>
    /// <returns>0: there is no such descriptor.</returns>
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
}
