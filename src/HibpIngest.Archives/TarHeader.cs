namespace HibpIngest.Archives;

/// <summary>A header block of a tar (POSIX.1-1988 ustar, with the extensions of GNU tar and pax).</summary>
internal readonly record struct TarHeader
{
    public const int BlockBytes = 512;

    private const int SizeAt = 124;
    private const int NumberBytes = 12;
    private const int ChecksumAt = 148;
    private const int ChecksumBytes = 8;
    private const int TypeAt = 156;
    private const int MagicAt = 257;
    private const int PrefixAt = 345;
    private const int PrefixBytes = 155;
    private const int NameBytes = 100;
    private const int MoreSparseBlocksAt = 482;

    public byte Type { get; private init; }

    /// <summary>Bytes of data after the header; negative: the field is invalid.</summary>
    public long Size { get; private init; }

    public byte[] Name { get; private init; }

    /// <summary>True if more blocks of a sparse file's map follow. Only for a GNU sparse file (type S): others have a name there.</summary>
    public bool HasMoreSparseBlocks { get; private init; }

    /// <param name="needsMagic">True if the magic is required too, because the checksum alone matches too much.</param>
    public static bool Matches(ReadOnlySpan<byte> block, bool needsMagic)
    {
        if (block.Length < BlockBytes || (needsMagic && !block[MagicAt..].StartsWith("ustar"u8)))
            return false;
        // The checksum's own field counts as eight spaces; some old writers summed signed bytes.
        var (sum, signed) = (ChecksumBytes * ' ', ChecksumBytes * ' ');
        for (var i = 0; i < BlockBytes; i++)
        {
            if (i is >= ChecksumAt and < ChecksumAt + ChecksumBytes)
                continue;
            sum += block[i];
            signed += (sbyte)block[i];
        }
        var stored = Octal(block.Slice(ChecksumAt, ChecksumBytes));
        return stored == sum || stored == signed;
    }

    public static TarHeader Parse(ReadOnlySpan<byte> block)
    {
        // GNU's own format has other fields in the place of the prefix.
        var prefix = block[MagicAt..].StartsWith("ustar\0"u8) ? Text(block.Slice(PrefixAt, PrefixBytes)) : default;
        var name = Text(block[..NameBytes]);
        return new TarHeader
        {
            Type = block[TypeAt],
            Size = Number(block.Slice(SizeAt, NumberBytes)),
            Name = prefix.IsEmpty ? name.ToArray() : [.. prefix, (byte)'/', .. name],
            HasMoreSparseBlocks = block[MoreSparseBlocksAt] != 0,
        };
    }

    private static ReadOnlySpan<byte> Text(ReadOnlySpan<byte> field) => field.IndexOf((byte)0) is >= 0 and var end ? field[..end] : field;

    /// <summary>Reads octal digits, or, for larger numbers, a binary number whose first byte has its top bit set.</summary>
    private static long Number(ReadOnlySpan<byte> field) => (field[0] & 0x80) == 0 ? Octal(field)
        : field[0] == 0x80 && field[1..^8].IndexOfAnyExcept((byte)0) < 0 ? BinaryPrimitives.ReadInt64BigEndian(field[^8..])
        : -1;

    private static long Octal(ReadOnlySpan<byte> field)
    {
        var digits = field.Trim(" \0"u8);
        if (digits.IndexOfAnyExceptInRange((byte)'0', (byte)'7') >= 0)
            return -1;
        var value = 0L;
        foreach (var digit in digits)
            value = (value << 3) + (digit - '0');
        return value;
    }
}
