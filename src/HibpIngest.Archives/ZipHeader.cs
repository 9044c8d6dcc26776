namespace HibpIngest.Archives;

/// <summary>A local or central header of an entry (APPNOTE 4.3.7, 4.3.12). Untrusted until the entry has been read to its end.</summary>
internal readonly record struct ZipHeader
{
    public const uint LocalSignature = 0x04034B50;
    public const uint CentralSignature = 0x02014B50;
    public const uint EndSignature = 0x06054B50;
    public const uint Zip64EndSignature = 0x06064B50;
    public const uint Zip64LocatorSignature = 0x07064B50;
    public const uint DescriptorSignature = 0x08074B50;

    public const int LocalBytes = 30;

    public const int CentralBytes = 46;

    public const ushort Stored = 0;
    public const ushort Deflated = 8;

    /// <summary>Method of an entry with WinZip AES; the actual one is in the extra field.</summary>
    public const ushort AesMethod = 99;

    private const ushort Zip64ExtraId = 0x0001;
    private const ushort AesExtraId = 0x9901;

    public ushort Flags { get; private init; }

    /// <summary>The compression method; of an encrypted entry, the one below the encryption.</summary>
    public ushort Method { get; private init; }

    public ushort ModifiedTime { get; private init; }

    public uint Crc { get; private init; }

    public long CompressedBytes { get; private init; }

    public long Bytes { get; private init; }

    /// <summary>Offset in the central directory, which doesn't include prepended data.</summary>
    public long LocalHeaderOffset { get; private init; }

    /// <summary>1, 2, 3 for AES of 128, 192, 256 bits; 0 for none.</summary>
    public byte AesStrength { get; private init; }

    /// <summary>1: AE-1, with a CRC-32; 2: AE-2, without.</summary>
    public ushort AesVersion { get; private init; }

    public int VariableBytes { get; private init; }

    public bool IsEncrypted => (Flags & 0x1) != 0;

    // CRC-32 and sizes follow the data.
    public bool HasDescriptor => (Flags & 0x8) != 0;

    /// <summary>PKWARE's strong encryption, or an encrypted central directory.</summary>
    public bool IsStronglyEncrypted => (Flags & 0x2040) != 0;

    public bool IsEmpty => this is { CompressedBytes: 0, Bytes: 0, Crc: 0 };

    public bool HasCrc => AesVersion != 2;

    public static int LocalVariableBytes(ReadOnlySpan<byte> header) => UInt16(header, 26) + UInt16(header, 28);

    public static int CentralVariableBytes(ReadOnlySpan<byte> header) => UInt16(header, 28) + UInt16(header, 30) + UInt16(header, 32);

    public static ReadOnlySpan<byte> LocalName(ReadOnlySpan<byte> header) => header.Slice(LocalBytes, UInt16(header, 26));

    public static ReadOnlySpan<byte> CentralName(ReadOnlySpan<byte> header) => header.Slice(CentralBytes, UInt16(header, 28));

    public static ZipHeader ParseLocal(ReadOnlySpan<byte> header)
    {
        var extra = LocalBytes + UInt16(header, 26);
        return new ZipHeader
        {
            Flags = UInt16(header, 6),
            Method = UInt16(header, 8),
            ModifiedTime = UInt16(header, 10),
            Crc = UInt32(header, 14),
            CompressedBytes = UInt32(header, 18),
            Bytes = UInt32(header, 22),
            VariableBytes = LocalVariableBytes(header),
        }.WithExtra(header.Slice(extra, UInt16(header, 28)));
    }

    public static ZipHeader ParseCentral(ReadOnlySpan<byte> header) => new ZipHeader
    {
        Flags = UInt16(header, 8),
        Method = UInt16(header, 10),
        ModifiedTime = UInt16(header, 12),
        Crc = UInt32(header, 16),
        CompressedBytes = UInt32(header, 20),
        Bytes = UInt32(header, 24),
        LocalHeaderOffset = UInt32(header, 42),
        VariableBytes = CentralVariableBytes(header),
    }.WithExtra(header.Slice(CentralBytes + UInt16(header, 28), UInt16(header, 30)));

    public static string NameOfMethod(ushort method) => method switch
    {
        1 => "1 (Shrink)",
        6 => "6 (Implode)",
        9 => "9 (Deflate64)",
        12 => "12 (bzip2)",
        14 => "14 (LZMA)",
        93 => "93 (Zstandard)",
        95 => "95 (xz)",
        96 => "96 (JPEG)",
        97 => "97 (WavPack)",
        98 => "98 (PPMd)",
        AesMethod => "99 (AES without its parameters)",
        _ => $"{method}",
    };

    private ZipHeader WithExtra(ReadOnlySpan<byte> extra)
    {
        var header = this;
        while (extra.Length >= 4)
        {
            var id = UInt16(extra, 0);
            int size = UInt16(extra, 2);
            if (size > extra.Length - 4)
                break; // some writers pad extra fields; if this skips a size, the check at the entry's end fails
            var field = extra.Slice(4, size);
            if (id == Zip64ExtraId)
                header = header.WithZip64(field);
            else if (id == AesExtraId && size >= 7 && Method == AesMethod && IsEncrypted)
                header = header with { AesVersion = UInt16(field, 0), AesStrength = field[4], Method = UInt16(field, 5) };
            extra = extra[(4 + size)..];
        }
        return header;
    }

    private ZipHeader WithZip64(ReadOnlySpan<byte> field)
    {
        var header = this;
        // The field holds only values that are all ones in the header, in this order.
        if (Bytes == uint.MaxValue && field.Length >= 8)
        {
            header = header with { Bytes = BinaryPrimitives.ReadInt64LittleEndian(field) };
            field = field[8..];
        }
        if (CompressedBytes == uint.MaxValue && field.Length >= 8)
        {
            header = header with { CompressedBytes = BinaryPrimitives.ReadInt64LittleEndian(field) };
            field = field[8..];
        }
        if (LocalHeaderOffset == uint.MaxValue && field.Length >= 8)
            header = header with { LocalHeaderOffset = BinaryPrimitives.ReadInt64LittleEndian(field) };
        return header;
    }

    private static ushort UInt16(ReadOnlySpan<byte> span, int offset) => BinaryPrimitives.ReadUInt16LittleEndian(span[offset..]);

    private static uint UInt32(ReadOnlySpan<byte> span, int offset) => BinaryPrimitives.ReadUInt32LittleEndian(span[offset..]);
}
