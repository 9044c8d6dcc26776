using System.Buffers.Binary;
using System.Runtime.CompilerServices;
using System.Text;

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

    /// <summary>Status of a request that was refused because its record wasn't durable.</summary>
    internal const ushort NotDurableStatus = 503;

    internal const int BytesOffset = 12;
    internal const int StatusOffset = 26;
    internal const int FlagsOffset = 29;

    private const uint Magic = 0x31434148; // HAC1
    private const int CrcOffset = 12;
    private const int CounterOffset = 16;
    private const int InstanceOffset = 24;

    /// <summary>Writes the header of a frame whose content is already in place.</summary>
    /// <param name="counter">Number of the first record; of the next one if there is none.</param>
    internal static void WriteHeader(Span<byte> frame, AccessFrameKind kind, ulong counter, Guid instance)
    {
        BinaryPrimitives.WriteUInt32LittleEndian(frame, Magic);
        BinaryPrimitives.WriteUInt32LittleEndian(frame[4..], (uint)kind);
        BinaryPrimitives.WriteInt32LittleEndian(frame[8..], frame.Length - HeaderBytes);
        BinaryPrimitives.WriteUInt64LittleEndian(frame[CounterOffset..], counter);
        instance.TryWriteBytes(frame[InstanceOffset..]);
        BinaryPrimitives.WriteUInt32LittleEndian(frame[CrcOffset..], Crc(frame));
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

    /// <summary>Returns the frame that a blob ends with.</summary>
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
        BinaryPrimitives.WriteUInt32LittleEndian(to[8..], record.DurationMicroseconds);
        BinaryPrimitives.WriteUInt32LittleEndian(to[BytesOffset..], record.Bytes);
        BinaryPrimitives.WriteUInt64LittleEndian(to[16..], record.Key);
        BinaryPrimitives.WriteUInt16LittleEndian(to[24..], record.Route);
        BinaryPrimitives.WriteUInt16LittleEndian(to[StatusOffset..], record.Status);
        to[28] = (byte)record.Client;
        to[FlagsOffset] = flags;
        to[30] = to[31] = 0;
    }

    internal static AccessRecord Read(ReadOnlySpan<byte> from) => new(
        BinaryPrimitives.ReadInt64LittleEndian(from), BinaryPrimitives.ReadUInt32LittleEndian(from[8..]),
        BinaryPrimitives.ReadUInt32LittleEndian(from[BytesOffset..]), BinaryPrimitives.ReadUInt64LittleEndian(from[16..]),
        BinaryPrimitives.ReadUInt16LittleEndian(from[24..]), BinaryPrimitives.ReadUInt16LittleEndian(from[StatusOffset..]),
        (ClientKind)from[28]);

    /// <returns>Null if it is no frame header.</returns>
    internal static AccessFrameHeader? ReadHeader(ReadOnlySpan<byte> header)
    {
        if (header.Length < HeaderBytes || BinaryPrimitives.ReadUInt32LittleEndian(header) != Magic)
            return null;
        var bytes = BinaryPrimitives.ReadInt32LittleEndian(header[8..]);
        return bytes is < 0 or > MaxContentBytes ? null : new AccessFrameHeader(
            (AccessFrameKind)BinaryPrimitives.ReadUInt32LittleEndian(header[4..]), bytes,
            BinaryPrimitives.ReadUInt64LittleEndian(header[CounterOffset..]), new Guid(header.Slice(InstanceOffset, 16)));
    }

    internal static bool IsWhole(ReadOnlySpan<byte> frame) =>
        BinaryPrimitives.ReadUInt32LittleEndian(frame[CrcOffset..]) == Crc(frame);

    private static uint Crc(ReadOnlySpan<byte> frame)
    {
        var header = frame[..HeaderBytes];
        Span<byte> around = stackalloc byte[HeaderBytes - 4];
        header[..CrcOffset].CopyTo(around);
        header[CounterOffset..].CopyTo(around[CrcOffset..]);
        return Crc32C.Compute(around, frame[HeaderBytes..]);
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
