using System.Buffers.Binary;

namespace HibpIngest.Archives;

/// <summary>
/// A breach's zip, read as it lies: entry by entry in the order of its central directory, straight from a seekable stream, zips and gzips within it
/// opened in the stream by their magic number, nothing on disk, no entry held.
/// </summary>
/// <remarks>
/// The zip format is read here rather than through ZipArchive or SharpZipLib's ZipFile: both hold the whole central directory as objects, the first checks
/// no CRC-32 and the second has its own slower inflater. One reader serves outer and nested entries, plain and encrypted; inflating is left to
/// DeflateStream, and to SharpZipLib's inflater where only the data itself tells where it ends.
/// </remarks>
public sealed class BreachArchive : IDisposable
{
    private const int ScratchBytes = 1 << 14;

    private readonly Stream _archive;
    private readonly string? _password;
    private readonly CentralDirectory _directory;
    private readonly InflationMeter _meter;
    private readonly byte[] _scratch = new byte[ScratchBytes];
    private int _entry;

    private BreachArchive(Stream archive, string? password, ArchiveLimits limits, CentralDirectory directory)
    {
        _archive = archive;
        _password = password;
        _directory = directory;
        _meter = new InflationMeter(limits, archive.Length);
    }

    /// <summary>Top-level entries, directories and empty ones among them, as the archive's end record says; that it says so truly is checked while reading.</summary>
    public int Entries => _directory.Entries;

    /// <summary>Where reading stands: the top-level entry that is being read (<see cref="Entries"/> after the last), and the counts so far, not those at its start.</summary>
    public ArchivePosition Position => new(_entry, _meter.InflatedBytes, _meter.EntriesOpened);

    /// <summary>Finds the central directory; no entry is opened yet.</summary>
    /// <param name="archive">Seekable; read synchronously, best on a thread of its own; stays open.</param>
    /// <param name="password">For encrypted entries; null or empty: there is none.</param>
    /// <param name="limits">What the archive may ask of us.</param>
    /// <exception cref="BadArchiveException">Not a zip, truncated, or past a limit by what it says itself.</exception>
    public static BreachArchive Open(Stream archive, string? password, ArchiveLimits limits) =>
        new(archive, password, limits, CentralDirectory.Find(archive, limits));

    /// <summary>
    /// Every text from that top-level entry on, in the archive's order; one enumeration at a time. Entries before it are neither opened nor counted.
    /// Directories and empty entries are passed over, and counted as entries. <see cref="BadArchiveException"/> and whatever the archive's stream throws
    /// come out of the enumeration and of the texts' content.
    /// </summary>
    public IEnumerable<ArchiveText> ReadFrom(ArchivePosition start)
    {
        _meter.StartAt(start);
        _directory.Rewind();
        for (_entry = 0; _entry < Entries; _entry++)
        {
            if (_entry < start.Entry)
            {
                _directory.Next();
                continue;
            }
            var position = Position;
            var content = OpenNext();
            if (content is null)
                continue;
            using (content)
            {
                foreach (var text in Texts(position, content, depth: 0))
                    yield return text;
            }
        }
        _directory.CheckEnd();
    }

    /// <summary>Gives its buffers back; the archive's stream stays open.</summary>
    public void Dispose() => _directory.Dispose();

    /// <summary>The next entry of the central directory; null: it is empty.</summary>
    private EntryContent? OpenNext()
    {
        var record = _directory.Next();
        var central = ZipHeader.ParseCentral(record);
        var entry = EntryName.TopLevel(_entry, Entries, ZipHeader.CentralName(record));
        _meter.CountEntry(entry);
        if (central is { CompressedBytes: 0, Bytes: 0, Crc: 0 })
            return null;
        ZipEntries.CheckReadable(central, entry, _password);

        // The offset is a stranger's: it and what is added to it may be anything.
        long length = _archive.Length;
        Int128 at = (Int128)central.LocalHeaderOffset + _directory.Shift;
        if (at < 0 || at + ZipHeader.LocalBytes > length)
            throw Damaged(entry, "its data is not within the file");
        Span<byte> header = stackalloc byte[ZipHeader.LocalBytes];
        MoveTo((long)at);
        if (_archive.ReadAtLeast(header, header.Length, throwOnEndOfStream: false) < header.Length
            || BinaryPrimitives.ReadUInt32LittleEndian(header) != ZipHeader.LocalSignature)
        {
            throw Damaged(entry, "no local header where the central directory says");
        }
        // Names and sizes may differ for harmless reasons; method and encryption decide how the data is read.
        ushort method = BinaryPrimitives.ReadUInt16LittleEndian(header[8..]);
        bool encrypted = (header[6] & 1) != 0;
        if (method != (central.AesVersion != 0 ? ZipHeader.AesMethod : central.Method) || encrypted != central.IsEncrypted)
            throw Damaged(entry, "its local header does not match the central directory");
        long dataAt = (long)at + ZipHeader.LocalBytes + ZipHeader.LocalVariableBytes(header);
        if (central.CompressedBytes < 0 || dataAt > length || central.CompressedBytes > length - dataAt)
            throw Damaged(entry, $"its {central.CompressedBytes:N0} bytes of data are not within the file");
        MoveTo(dataAt);
        return ZipEntries.Open(_archive, central, entry, _password, _meter, atEnd: null);
    }

    private IEnumerable<ArchiveText> Texts(ArchivePosition topLevel, EntryContent content, int depth)
    {
        switch (content.PeekMagic())
        {
            case []:
                yield break;
            case [(byte)'P', (byte)'K', 3, 4] or [(byte)'P', (byte)'K', 5, 6]:
                _meter.CheckNesting(depth + 1, content.Entry);
                using (var zip = new NestedZip(content, _password, _meter))
                {
                    while (zip.Next() is { } inner)
                    {
                        using (inner)
                        {
                            foreach (var text in Texts(topLevel, inner, depth + 1))
                                yield return text;
                        }
                    }
                }
                break;
            case [0x1F, 0x8B, 8, ..]:
                _meter.CheckNesting(depth + 1, content.Entry);
                _meter.CountEntry(content.Entry);
                using (var inner = new EntryContent(
                    content.Entry, new GzipDecoder(content), _meter, null, static (_, _) => { }, maybePassword: false))
                {
                    foreach (var text in Texts(topLevel, inner, depth + 1))
                        yield return text;
                }
                break;
            default:
                yield return new ArchiveText(topLevel, content);
                break;
        }
        content.Drain(_scratch);
    }

    private void MoveTo(long position)
    {
        if (_archive.Position != position)
            _archive.Position = position;
    }

    private static BadArchiveException Damaged(EntryName entry, string reason) =>
        new($"{entry}: {reason}; the archive is damaged or incomplete: drop an intact copy");
}
