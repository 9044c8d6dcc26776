using System.Runtime.CompilerServices;

namespace HibpIngest.Api.AccessLog;

/// <summary>
/// The format of the access log (docs/access-log.md), little-endian. A blob is a sequence of frames: one with the route templates, one per
/// group of records, and an empty one as its end, which is missing while the blob is being written.
/// </summary>
public static class AccessFrame
{
    public const int HeaderBytes = 40;
    public const int RecordBytes = 32;

    /// <summary>Maximum content that a reader accepts; writers use at most a quarter of it.</summary>
    public const int MaxContentBytes = IAccessBlobs.MaxBlockBytes;

    /// <summary>Flag of a record that was durable before its request was answered.</summary>
    internal const byte Durable = 1;

    internal const ushort NotDurableStatus = 503;

    private const uint Magic = 0x31434148; // HAC1

    private static class Header
    {
        public const int Kind = 4;
        public const int ContentBytes = 8;
        public const int Crc = 12;
        public const int Counter = 16;
        public const int Instance = 24;
    }

    internal static class RecordOffset
    {
        public const int Duration = 8;
        public const int Bytes = 12;
        public const int Key = 16;
        public const int Route = 24;
        public const int Status = 26;
        public const int Client = 28;
        public const int Flags = 29;
    }

    /// <summary>Writes the header of a frame whose content is already in place.</summary>
    /// <param name="counter">Sequence number of the first record in this frame, or of the next record if the frame has none.</param>
    internal static void WriteHeader(Span<byte> frame, AccessFrameKind kind, ulong counter, Guid instance)
    {
        BinaryPrimitives.WriteUInt32LittleEndian(frame, Magic);
        BinaryPrimitives.WriteUInt32LittleEndian(frame[Header.Kind..], (uint)kind);
        BinaryPrimitives.WriteInt32LittleEndian(frame[Header.ContentBytes..], frame.Length - HeaderBytes);
        BinaryPrimitives.WriteUInt64LittleEndian(frame[Header.Counter..], counter);
        instance.TryWriteBytes(frame[Header.Instance..]);
        BinaryPrimitives.WriteUInt32LittleEndian(frame[Header.Crc..], Crc(frame));
    }

    internal static byte[] Routes(IReadOnlyList<string> templates, Guid instance)
    {
        using var frame = new MemoryStream();
        using (var writer = new BinaryWriter(frame, Encoding.UTF8, leaveOpen: true))
        {
            writer.Write(new byte[HeaderBytes]);
            writer.Write((ushort)templates.Count);
            foreach (var template in templates)
            {
                writer.Write((ushort)Encoding.UTF8.GetByteCount(template));
                writer.Write(Encoding.UTF8.GetBytes(template));
            }
        }
        var bytes = frame.ToArray();
        WriteHeader(bytes, AccessFrameKind.Routes, 0, instance);
        return bytes;
    }

    /// <param name="instance">The process that ends it: its writer, or another one if the writer has died.</param>
    internal static byte[] End(Guid instance)
    {
        var frame = new byte[HeaderBytes];
        WriteHeader(frame, AccessFrameKind.End, 0, instance);
        return frame;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static void Write(Span<byte> to, in AccessRecord record, byte flags)
    {
        to = to[..RecordBytes];
        BinaryPrimitives.WriteInt64LittleEndian(to, record.Microseconds);
        BinaryPrimitives.WriteUInt32LittleEndian(to[RecordOffset.Duration..], record.DurationMicroseconds);
        BinaryPrimitives.WriteUInt32LittleEndian(to[RecordOffset.Bytes..], record.Bytes);
        BinaryPrimitives.WriteUInt64LittleEndian(to[RecordOffset.Key..], record.Key);
        BinaryPrimitives.WriteUInt16LittleEndian(to[RecordOffset.Route..], record.Route);
        BinaryPrimitives.WriteUInt16LittleEndian(to[RecordOffset.Status..], record.Status);
        to[RecordOffset.Client] = (byte)record.Client;
        to[RecordOffset.Flags] = flags;
        to[30] = to[31] = 0;
    }

    internal static AccessRecord Read(ReadOnlySpan<byte> from) => new(
        BinaryPrimitives.ReadInt64LittleEndian(from), BinaryPrimitives.ReadUInt32LittleEndian(from[RecordOffset.Duration..]),
        BinaryPrimitives.ReadUInt32LittleEndian(from[RecordOffset.Bytes..]),
        BinaryPrimitives.ReadUInt64LittleEndian(from[RecordOffset.Key..]),
        BinaryPrimitives.ReadUInt16LittleEndian(from[RecordOffset.Route..]),
        BinaryPrimitives.ReadUInt16LittleEndian(from[RecordOffset.Status..]), (ClientKind)from[RecordOffset.Client]);

    internal static AccessFrameHeader? ReadHeader(ReadOnlySpan<byte> header)
    {
        if (header.Length < HeaderBytes || BinaryPrimitives.ReadUInt32LittleEndian(header) != Magic)
            return null;
        var bytes = BinaryPrimitives.ReadInt32LittleEndian(header[Header.ContentBytes..]);
        return bytes is < 0 or > MaxContentBytes ? null : new AccessFrameHeader(
            (AccessFrameKind)BinaryPrimitives.ReadUInt32LittleEndian(header[Header.Kind..]), bytes,
            BinaryPrimitives.ReadUInt64LittleEndian(header[Header.Counter..]), new Guid(header.Slice(Header.Instance, 16)));
    }

    internal static bool IsWhole(ReadOnlySpan<byte> frame) =>
        BinaryPrimitives.ReadUInt32LittleEndian(frame[Header.Crc..]) == Crc(frame);

    private static uint Crc(ReadOnlySpan<byte> frame)
    {
        var header = frame[..HeaderBytes];
        Span<byte> headerWithoutCrc = stackalloc byte[HeaderBytes - 4];
        header[..Header.Crc].CopyTo(headerWithoutCrc);
        header[Header.Counter..].CopyTo(headerWithoutCrc[Header.Crc..]);
        return Crc32C.Compute(headerWithoutCrc, frame[HeaderBytes..]);
    }
}

/// <summary>Kind of a frame. The numbers are stored: a contract.</summary>
internal enum AccessFrameKind : uint
{
    Routes = 1,
    Records = 2,
    End = 3,
}

internal readonly record struct AccessFrameHeader(AccessFrameKind Kind, int Bytes, ulong Counter, Guid Instance);
