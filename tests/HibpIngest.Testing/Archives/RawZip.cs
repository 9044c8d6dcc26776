using System.Buffers.Binary;
using System.IO.Compression;
using System.IO.Hashing;
using System.Runtime.InteropServices;

namespace HibpIngest.Testing;

/// <summary>Writes zips byte by byte, so that any field can be wrong.</summary>
internal sealed class RawZip
{
    private readonly MemoryStream _out = new();
    private readonly List<byte[]> _records = [];

    /// <summary>An entry whose fields can be set one by one; a null field gets the correct value.</summary>
    public sealed record Entry(string Name, byte[] Data)
    {
        public ushort Method { get; init; } = 8;
        public ushort LocalFlags { get; init; }
        public ushort? CentralFlags { get; init; }
        public ushort? LocalMethod { get; init; }
        public uint? LocalCrc { get; init; }
        public uint? CentralCrc { get; init; }
        public uint? LocalSize { get; init; }
        public uint? CentralSize { get; init; }
        public uint? LocalCompressed { get; init; }
        public uint? CentralCompressed { get; init; }
        public uint? Offset { get; init; }
        public byte[]? Compressed { get; init; }
        public byte[] RawName { get; init; } = Encoding.UTF8.GetBytes(Name);
        public byte[] LocalExtra { get; init; } = [];
        public byte[] CentralExtra { get; init; } = [];
        public byte[] After { get; init; } = [];
    }

    public static byte[] Of(params Entry[] entries)
    {
        var zip = new RawZip();
        foreach (var entry in entries)
            zip.Add(entry);
        return zip.Finish();
    }

    public RawZip Add(Entry entry)
    {
        var compressed = Compress(entry);
        var crc = Crc32.HashToUInt32(entry.Data);
        var at = _out.Length;
        var local = new byte[30];
        BinaryPrimitives.WriteUInt32LittleEndian(local, 0x04034B50);
        BinaryPrimitives.WriteUInt16LittleEndian(local.AsSpan(4), 20);
        BinaryPrimitives.WriteUInt16LittleEndian(local.AsSpan(6), entry.LocalFlags);
        BinaryPrimitives.WriteUInt16LittleEndian(local.AsSpan(8), entry.LocalMethod ?? entry.Method);
        BinaryPrimitives.WriteUInt32LittleEndian(local.AsSpan(14), entry.LocalCrc ?? crc);
        BinaryPrimitives.WriteUInt32LittleEndian(local.AsSpan(18), entry.LocalCompressed ?? (uint)compressed.Length);
        BinaryPrimitives.WriteUInt32LittleEndian(local.AsSpan(22), entry.LocalSize ?? (uint)entry.Data.Length);
        BinaryPrimitives.WriteUInt16LittleEndian(local.AsSpan(26), (ushort)entry.RawName.Length);
        BinaryPrimitives.WriteUInt16LittleEndian(local.AsSpan(28), (ushort)entry.LocalExtra.Length);
        _out.Write(local);
        _out.Write(entry.RawName);
        _out.Write(entry.LocalExtra);
        _out.Write(compressed);
        _out.Write(entry.After);

        return AddRecord(entry, at);
    }

    /// <summary>Adds a central directory record for an entry at this offset, without writing the entry.</summary>
    public RawZip AddRecord(Entry entry, long at)
    {
        var compressed = Compress(entry);
        var central = new byte[46];
        BinaryPrimitives.WriteUInt32LittleEndian(central, 0x02014B50);
        BinaryPrimitives.WriteUInt16LittleEndian(central.AsSpan(6), 20);
        BinaryPrimitives.WriteUInt16LittleEndian(central.AsSpan(8), entry.CentralFlags ?? entry.LocalFlags);
        BinaryPrimitives.WriteUInt16LittleEndian(central.AsSpan(10), entry.Method);
        BinaryPrimitives.WriteUInt32LittleEndian(central.AsSpan(16), entry.CentralCrc ?? Crc32.HashToUInt32(entry.Data));
        BinaryPrimitives.WriteUInt32LittleEndian(central.AsSpan(20), entry.CentralCompressed ?? (uint)compressed.Length);
        BinaryPrimitives.WriteUInt32LittleEndian(central.AsSpan(24), entry.CentralSize ?? (uint)entry.Data.Length);
        BinaryPrimitives.WriteUInt16LittleEndian(central.AsSpan(28), (ushort)entry.RawName.Length);
        BinaryPrimitives.WriteUInt16LittleEndian(central.AsSpan(30), (ushort)entry.CentralExtra.Length);
        BinaryPrimitives.WriteUInt32LittleEndian(central.AsSpan(42), entry.Offset ?? (uint)at);
        _records.Add([.. central, .. entry.RawName, .. entry.CentralExtra]);
        return this;
    }

    /// <summary>Adds bytes that belong to no entry.</summary>
    public RawZip Fill(int bytes)
    {
        _out.Write(new byte[bytes]);
        return this;
    }

    public RawZip Shuffle(Random random)
    {
        random.Shuffle(CollectionsMarshal.AsSpan(_records));
        return this;
    }

    public RawZip Reverse()
    {
        _records.Reverse();
        return this;
    }

    public RawZip AddRawRecord(byte[] record)
    {
        _records.Add(record);
        return this;
    }

    /// <summary>Finishes with a ZIP64 end record; the classic one only refers to it.</summary>
    public byte[] FinishZip64(ulong? entries = null, long? locatorOffset = null)
    {
        var start = _out.Length;
        foreach (var record in _records)
            _out.Write(record);
        var end = _out.Length;
        using (var writer = new BinaryWriter(_out, Encoding.Latin1, leaveOpen: true))
        {
            writer.Write(0x06064B50u);
            writer.Write(44L);
            writer.Write((ushort)45);
            writer.Write((ushort)45);
            writer.Write(0u);
            writer.Write(0u);
            writer.Write(entries ?? (ulong)_records.Count);
            writer.Write(entries ?? (ulong)_records.Count);
            writer.Write(end - start);
            writer.Write(start);
            writer.Write(0x07064B50u);
            writer.Write(0u);
            writer.Write(locatorOffset ?? end);
            writer.Write(1u);
            writer.Write(0x06054B50u);
            writer.Write(0u);
            writer.Write(uint.MaxValue);
            writer.Write(uint.MaxValue);
            writer.Write(uint.MaxValue);
            writer.Write((ushort)0);
        }
        return _out.ToArray();
    }

    public byte[] Finish(
        int? entries = null, uint? directorySize = null, uint? directoryOffset = null, string comment = "", byte[]? gap = null)
    {
        var start = _out.Length;
        foreach (var record in _records)
            _out.Write(record);
        var size = _out.Length - start;
        _out.Write(gap ?? []);
        var end = new byte[22];
        BinaryPrimitives.WriteUInt32LittleEndian(end, 0x06054B50);
        BinaryPrimitives.WriteUInt16LittleEndian(end.AsSpan(8), (ushort)(entries ?? _records.Count));
        BinaryPrimitives.WriteUInt16LittleEndian(end.AsSpan(10), (ushort)(entries ?? _records.Count));
        BinaryPrimitives.WriteUInt32LittleEndian(end.AsSpan(12), directorySize ?? (uint)size);
        BinaryPrimitives.WriteUInt32LittleEndian(end.AsSpan(16), directoryOffset ?? (uint)start);
        BinaryPrimitives.WriteUInt16LittleEndian(end.AsSpan(20), (ushort)comment.Length);
        _out.Write(end);
        _out.Write(Encoding.Latin1.GetBytes(comment));
        return _out.ToArray();
    }

    private static byte[] Compress(Entry entry) => entry.Compressed ?? (entry.Method == 8 ? Deflate(entry.Data) : entry.Data);

    /// <summary>Returns deflate data of this size, rounded down, in empty blocks of five bytes, which inflate to nothing.</summary>
    public static byte[] EmptyBlocks(int bytes)
    {
        var blocks = new byte[bytes / 5 * 5];
        for (var at = 0; at < blocks.Length; at += 5)
            (blocks[at + 3], blocks[at + 4]) = (0xFF, 0xFF);
        blocks[^5] = 1;
        return blocks;
    }

    public static byte[] Deflate(byte[] data)
    {
        var compressed = new MemoryStream();
        using (var deflate = new DeflateStream(compressed, CompressionLevel.Optimal, leaveOpen: true))
            deflate.Write(data);
        // DeflateStream writes nothing for empty input; a zip's deflate data ends with a final block.
        return data.Length == 0 ? [3, 0] : compressed.ToArray();
    }

    public static byte[] Descriptor(uint crc, long compressed, long size, bool signature = true, bool zip64 = false)
    {
        var descriptor = new MemoryStream();
        using var writer = new BinaryWriter(descriptor);
        if (signature)
            writer.Write(0x08074B50u);
        writer.Write(crc);
        if (zip64)
        {
            writer.Write(compressed);
            writer.Write(size);
        }
        else
        {
            writer.Write((uint)compressed);
            writer.Write((uint)size);
        }
        return descriptor.ToArray();
    }
}
