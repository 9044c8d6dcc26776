using System.IO.Hashing;

namespace HibpIngest.Passwords.Releases;

/// <summary>The offset of each range of a mode within its packs, queried in binary form (docs/passwords.md, "Index").</summary>
internal sealed class PackIndex(ReadOnlyMemory<byte> bytes)
{
    public const int PackHeaderBytes = 16;

    private const int HeaderBytes = 16;
    private const int ETagBytes = 48;
    private const int PackBytes = 16 + ETagBytes;
    private const int EntryBytes = 8;
    private const int EntriesAt = HeaderBytes + (PasswordNames.Groups * PackBytes);
    private const int ChecksumAt = EntriesAt + (HashModes.Ranges * EntryBytes);
    private const int Bytes = ChecksumAt + sizeof(uint);

    private readonly ReadOnlyMemory<byte> _bytes = bytes;
    private readonly string[] _etags = [.. Enumerable.Range(0, PasswordNames.Groups).Select(
        pack => Encoding.ASCII.GetString(bytes.Span.Slice(PackAt(pack) + 16, ETagBytes)).TrimEnd('\0'))];

    private static ReadOnlySpan<byte> Magic => "HIBPPX01"u8;

    private static ReadOnlySpan<byte> PackMagic => "HIBPPK01"u8;

    public static byte[] PackHeader(HashMode mode, int pack)
    {
        var header = new byte[PackHeaderBytes];
        PackMagic.CopyTo(header);
        (header[8], header[9]) = ((byte)mode, (byte)pack);
        return header;
    }

    public static byte[] Make(HashMode mode, IReadOnlyList<PackRecord> packs)
    {
        var bytes = new byte[Bytes];
        Magic.CopyTo(bytes);
        bytes[8] = (byte)mode;
        for (var pack = 0; pack < PasswordNames.Groups; pack++)
        {
            var record = packs[pack];
            var at = bytes.AsSpan(PackAt(pack));
            BinaryPrimitives.WriteInt64LittleEndian(at, record.Length);
            BinaryPrimitives.WriteInt64LittleEndian(at[8..], record.Rows);
            if (record.ETag.Length > ETagBytes)
            {
                throw new InvalidOperationException(
                    $"pack index: expected an ETag of at most {ETagBytes} characters, found {record.ETag.Length}");
            }
            Encoding.ASCII.GetBytes(record.ETag, at[16..]);
            record.Entries.Span.CopyTo(bytes.AsSpan(EntriesAt + (pack * PasswordNames.RangesOfGroup * EntryBytes)));
        }
        BinaryPrimitives.WriteUInt32LittleEndian(bytes.AsSpan(ChecksumAt), Crc32.HashToUInt32(bytes.AsSpan(0, ChecksumAt)));
        return bytes;
    }

    /// <param name="content">Is kept, so it must not change.</param>
    public static PackIndex Parse(HashMode mode, ReadOnlyMemory<byte> content)
    {
        var bytes = content.Span;
        if (bytes.Length != Bytes || !bytes.StartsWith(Magic) || bytes[8] != (byte)mode
            || BinaryPrimitives.ReadUInt32LittleEndian(bytes[ChecksumAt..]) != Crc32.HashToUInt32(bytes[..ChecksumAt]))
            throw new StoreMismatchException("an index of passwords can't be read: it is damaged, or was written by another program; "
                + "restore a version of the blob, or serve another release: hibp passwords switch");
        return new PackIndex(content);
    }

    public string ETagOf(int pack) => _etags[pack];

    /// <returns>A length of 0 means that the range has no hash.</returns>
    public (long Offset, int Length) PlaceOf(int prefix)
    {
        var offset = OffsetOf(prefix);
        var end = (prefix + 1) % PasswordNames.RangesOfGroup == 0
            ? BinaryPrimitives.ReadInt64LittleEndian(_bytes.Span[PackAt(prefix / PasswordNames.RangesOfGroup)..])
            : OffsetOf(prefix + 1);
        return (offset, (int)(end - offset));
    }

    public PackRecord RecordOf(int pack) => new(
        BinaryPrimitives.ReadInt64LittleEndian(_bytes.Span[PackAt(pack)..]),
        BinaryPrimitives.ReadInt64LittleEndian(_bytes.Span[(PackAt(pack) + 8)..]), ETagOf(pack),
        _bytes.Slice(EntryAt(pack * PasswordNames.RangesOfGroup), PasswordNames.RangesOfGroup * EntryBytes));

    /// <summary>CRC-32 of the range's gzip member.</summary>
    public uint ChecksumOf(int prefix) => BinaryPrimitives.ReadUInt32LittleEndian(_bytes.Span[(EntryAt(prefix) + 4)..]);

    private uint OffsetOf(int prefix) => BinaryPrimitives.ReadUInt32LittleEndian(_bytes.Span[EntryAt(prefix)..]);

    private static int PackAt(int pack) => HeaderBytes + (pack * PackBytes);

    private static int EntryAt(int prefix) => EntriesAt + (prefix * EntryBytes);
}

/// <param name="Entries">8 bytes per range, as in the index: offset and CRC-32, little-endian.</param>
internal sealed record PackRecord(long Length, long Rows, string ETag, ReadOnlyMemory<byte> Entries)
{
    public const string NoETag = "";

    /// <param name="range">Counted from the pack's first.</param>
    /// <returns>A length of 0 means that the range has no hash.</returns>
    public (long Offset, int Length) PlaceOf(int range)
    {
        var offset = OffsetOf(range);
        return (offset, (int)((range + 1 == PasswordNames.RangesOfGroup ? Length : OffsetOf(range + 1)) - offset));
    }

    public uint ChecksumOf(int range) => BinaryPrimitives.ReadUInt32LittleEndian(Entries.Span[((range * 8) + 4)..]);

    private uint OffsetOf(int range) => BinaryPrimitives.ReadUInt32LittleEndian(Entries.Span[(range * 8)..]);
}
