using System.IO.Compression;

namespace HibpIngest.Archives;

/// <summary>Opens an entry whose compressed size is known, in the outer or a nested archive.</summary>
internal static class ZipEntries
{
    public static void CheckReadable(ZipHeader header, EntryName entry, string? password)
    {
        if (header.IsStronglyEncrypted
            || (header.IsEncrypted && header.AesVersion != 0 && (header.AesVersion > 2 || header.AesStrength is 0 or > 3)))
        {
            throw new BadArchiveException(
                $"{entry}: encrypted in a way that is not supported (expected ZipCrypto or WinZip AES); unpack it and zip it again");
        }
        if (header.IsEncrypted && string.IsNullOrEmpty(password))
            throw new BadArchiveException($"{entry}: the archive is encrypted and no password was given") { NeedsPassword = true };
        if (header.Method is not (ZipHeader.Stored or ZipHeader.Deflated))
        {
            throw new BadArchiveException(
                $"{entry}: compression method {ZipHeader.NameOfMethod(header.Method)} is not supported (expected stored or deflate); "
                + "unpack the zip and compress its files again with deflate");
        }
    }

    /// <param name="source">At the entry's data; not disposed.</param>
    /// <param name="atEnd">Called at the end with CRC-32 and size; null to check both against the header.</param>
    public static EntryContent Open(
        Stream source, ZipHeader header, EntryName entry, string? password, InflationMeter meter, Action<uint, long>? atEnd)
    {
        var section = new SectionStream(source, header.CompressedBytes);
        Stream data;
        try
        {
            data = !header.IsEncrypted ? section
                : header.AesVersion == 0 ? new ZipCryptoStream(section, password!, header)
                : new WinZipAesStream(section, password!, header.AesStrength);
        }
        catch (DamagedDataException e)
        {
            throw new BadArchiveException($"{entry}: {e.Message}", e) { NeedsPassword = e.NeedsPassword };
        }
        var gauge = header.Method == ZipHeader.Stored ? null : new IdleGauge(meter, entry);
        if (gauge is not null)
            data = new GaugedStream(data, gauge);
        var decoder = gauge is null ? data : new DeflateStream(data, CompressionMode.Decompress);
        return new EntryContent(entry, decoder, meter, gauge, atEnd is null ? header.Bytes : null, CheckEnd, header.IsEncrypted);

        void CheckEnd(uint crc, long bytes)
        {
            // Reading past the end makes AES check its authentication code.
            Span<byte> more = stackalloc byte[1];
            var hasMore = data.Read(more) > 0;
            if (atEnd is null && bytes != header.Bytes)
                throw new DamagedDataException($"it inflates to {bytes:N0} bytes, its header says {header.Bytes:N0}");
            if (atEnd is null && header.HasCrc && crc != header.Crc)
                throw new DamagedDataException($"its CRC-32 should be {header.Crc:X8} and is {crc:X8}");
            if (hasMore)
                throw new DamagedDataException("its compressed data continues after its end");
            atEnd?.Invoke(crc, bytes);
        }
    }
}
