namespace HibpIngest.Journal.Segments;

internal readonly record struct BlockFrame(SegmentBlock Block, int Domains, BlockCodec Codec)
{
    public const int CrcOffset = 36;

    private static ReadOnlySpan<byte> Magic => "ABLK"u8;

    /// <summary>Writes all but the checksum.</summary>
    public void Write(Span<byte> frame)
    {
        Magic.CopyTo(frame);
        BinaryPrimitives.WriteInt32LittleEndian(frame[4..], Block.StoredBytes);
        BinaryPrimitives.WriteInt32LittleEndian(frame[8..], Block.RawBytes);
        BinaryPrimitives.WriteInt32LittleEndian(frame[12..], Block.Rows);
        BinaryPrimitives.WriteInt64LittleEndian(frame[16..], Block.First);
        BinaryPrimitives.WriteInt32LittleEndian(frame[24..], Block.Slice);
        BinaryPrimitives.WriteInt32LittleEndian(frame[28..], Domains);
        frame[32] = (byte)Codec;
        frame[33] = BlockEncoder.Layout;
        BinaryPrimitives.WriteUInt16LittleEndian(frame[34..], 0);
    }

    /// <param name="block">The frame and its payload.</param>
    public static uint Crc(ReadOnlySpan<byte> block) => Crc32C.Compute(block[..CrcOffset], block[SegmentLimits.FrameBytes..]);

    public static BlockFrame Read(string segment, in SegmentBlock block, ReadOnlySpan<byte> bytes)
    {
        if (!bytes.StartsWith(Magic))
            throw Damage(segment, block, "no block begins here");
        var crc = BinaryPrimitives.ReadUInt32LittleEndian(bytes[CrcOffset..]);
        if (crc != block.Crc)
            throw Damage(segment, block, "its checksum is not the one that the footer has");
        if (crc != Crc(bytes))
            throw Damage(segment, block, "its checksum is not that of its bytes");
        var found = block with
        {
            StoredBytes = BinaryPrimitives.ReadInt32LittleEndian(bytes[4..]),
            RawBytes = BinaryPrimitives.ReadInt32LittleEndian(bytes[8..]),
            Rows = BinaryPrimitives.ReadInt32LittleEndian(bytes[12..]),
            First = BinaryPrimitives.ReadInt64LittleEndian(bytes[16..]),
            Slice = BinaryPrimitives.ReadInt32LittleEndian(bytes[24..]),
        };
        if (found != block)
            throw Damage(
                segment, block,
                $"its frame has slice {found.Slice}, position {found.First}, {found.Rows} rows, {found.StoredBytes} stored "
                + $"and {found.RawBytes} raw bytes; the footer has slice {block.Slice}, position {block.First}, {block.Rows} rows, "
                + $"{block.StoredBytes} stored and {block.RawBytes} raw bytes");
        var frame = new BlockFrame(block, BinaryPrimitives.ReadInt32LittleEndian(bytes[28..]), (BlockCodec)bytes[32]);
        if (frame.Domains < 1 || frame.Domains > block.Rows)
            throw Damage(segment, block, $"its frame has {frame.Domains} domains of {block.Rows} rows");
        if (frame.Codec > BlockCodec.Brotli || bytes[33] != BlockEncoder.Layout
            || BinaryPrimitives.ReadUInt16LittleEndian(bytes[34..]) != 0)
            throw Damage(segment, block, $"its codec is {(int)frame.Codec} and its layout {bytes[33]}, which this program doesn't know");
        if (frame.Codec == BlockCodec.None ? block.StoredBytes != block.RawBytes : block.StoredBytes >= block.RawBytes)
            throw Damage(segment, block, $"codec {(int)frame.Codec} made {block.StoredBytes} bytes of {block.RawBytes}");
        return frame;
    }

    private static DamagedSegmentException Damage(string segment, in SegmentBlock block, string problem) =>
        new(segment, block.Number, block.Offset, problem);
}
