namespace HibpIngest.Archives;

/// <summary>
/// Reads a breach's zip in the order of its central directory. Nested archives are recognised by magic number and opened in the stream;
/// nothing is written to disk, and no entry is held in memory.
/// </summary>
/// <remarks>
/// ZipArchive and SharpZipLib's ZipFile are not used: both hold the whole central directory as objects, ZipArchive checks no CRC-32, and
/// ZipFile's inflater is slower. Entries are inflated by DeflateStream, or by SharpZipLib's inflater if only the data says where it ends.
/// </remarks>
public sealed class BreachArchive : BreachFile
{
    private const int ScratchBytes = 1 << 14;

    private readonly Stream _archive;
    private readonly string? _password;
    private readonly CentralDirectory _directory;
    private readonly InflationMeter _meter;
    private readonly NestedTexts _nested;
    private readonly byte[] _scratch = new byte[ScratchBytes];
    private int _entry;
    private (int Entry, long Start, long End) _previousExtent;

    private BreachArchive(Stream archive, string? password, ArchiveLimits limits, CentralDirectory directory, bool opensTars)
    {
        _archive = archive;
        _password = password;
        _directory = directory;
        _meter = new InflationMeter(limits, archive.Length);
        _nested = new NestedTexts(password, _meter, opensTars);
    }

    /// <summary>Number of top-level entries, including directories and empty ones.</summary>
    public int Entries => _directory.Entries;

    public override ArchivePosition Position => new(_entry, _meter.InflatedBytes, _meter.EntriesOpened, _meter.IdleBytes);

    /// <param name="archive">Seekable; read synchronously, best on its own thread; not disposed.</param>
    /// <exception cref="BadArchiveException">Not a zip, truncated, with overlapping entries, or past a limit.</exception>
    public static BreachArchive Open(Stream archive, string? password, ArchiveLimits limits, bool opensTars = false)
    {
        var directory = CentralDirectory.Find(archive, limits);
        try
        {
            EntryExtents.Check(directory);
            return new BreachArchive(archive, password, limits, directory, opensTars);
        }
        catch
        {
            directory.Dispose();
            throw;
        }
    }

    public override IEnumerable<ArchiveText> ReadFrom(ArchivePosition start)
    {
        _meter.StartAt(start);
        _directory.Rewind();
        _previousExtent = default;
        for (_entry = 0; _entry < Entries; _entry++)
        {
            if (_entry < start.Entry)
            {
                _directory.Next();
                continue;
            }
            var position = Position;
            if (OpenNext() is not { } content)
                continue;
            foreach (var text in _nested.Open(position, content))
                yield return text;
        }
    }

    public override void Dispose()
    {
        _directory.Dispose();
        base.Dispose();
    }

    /// <returns>The next entry of the central directory; null if it is empty.</returns>
    private EntryContent? OpenNext()
    {
        var record = _directory.Next();
        var central = ZipHeader.ParseCentral(record);
        var entry = EntryName.TopLevel(_entry, Entries, ZipHeader.CentralName(record));
        _meter.CountEntry(entry);
        if (central.IsEmpty)
            return null;
        ZipEntries.CheckReadable(central, entry, _password);

        // The offset is untrusted: it may overflow when added to.
        var offset = (Int128)central.LocalHeaderOffset + _directory.Shift;
        if (offset < 0 || offset + ZipHeader.LocalBytes > _directory.Start)
            throw BadArchiveException.Damaged(entry, "its data is not within the file");
        var headerOffset = (long)offset;
        // The expected size of header and data, so that a stream that fetches what is requested needs one request for a small entry.
        var expected = ZipHeader.LocalBytes + central.VariableBytes + Math.Clamp(central.CompressedBytes, 0, ScratchBytes);
        var header = _scratch.AsSpan(0, (int)Math.Min(Math.Min(expected, ScratchBytes), _directory.Start - headerOffset));
        MoveTo(headerOffset);
        if (_archive.ReadAtLeast(header, ZipHeader.LocalBytes, throwOnEndOfStream: false) < ZipHeader.LocalBytes
            || BinaryPrimitives.ReadUInt32LittleEndian(header) != ZipHeader.LocalSignature)
        {
            throw BadArchiveException.Damaged(entry, "there is no local header at the offset in the central directory");
        }
        // Names and sizes may differ for harmless reasons; method and encryption decide how the data is read.
        var method = BinaryPrimitives.ReadUInt16LittleEndian(header[8..]);
        var encrypted = (header[6] & 1) != 0;
        if (method != (central.AesVersion != 0 ? ZipHeader.AesMethod : central.Method) || encrypted != central.IsEncrypted)
            throw BadArchiveException.Damaged(entry, "its local header does not match the central directory");
        var dataAt = headerOffset + ZipHeader.LocalBytes + ZipHeader.LocalVariableBytes(header);
        if (central.CompressedBytes < 0 || dataAt > _directory.Start || central.CompressedBytes > _directory.Start - dataAt)
        {
            throw BadArchiveException.Damaged(
                entry, $"its {central.CompressedBytes:N0} bytes of data are not within the file, before its directory");
        }
        // EntryExtents.Check didn't include the names and extra fields of local headers, which the directory doesn't record.
        var end = dataAt + central.CompressedBytes;
        if (headerOffset < _previousExtent.End && _previousExtent.Start < end)
            throw EntryExtents.Overlap(_previousExtent.Entry, _entry, Entries);
        _previousExtent = (_entry, headerOffset, end);
        MoveTo(dataAt);
        return ZipEntries.Open(_archive, central, entry, _password, _meter, atEnd: null);
    }

    private void MoveTo(long position)
    {
        if (_archive.Position != position)
            _archive.Position = position;
    }
}
