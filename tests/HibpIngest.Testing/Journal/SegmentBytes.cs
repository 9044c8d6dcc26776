using System.Buffers;
using HibpIngest.Journal.Segments;

namespace HibpIngest.Testing;

/// <summary>A whole segment in memory, read by the same code as <see cref="SegmentReader"/>.</summary>
internal sealed class SegmentBytes
{
    private readonly ReadOnlyMemory<byte> _bytes;

    private SegmentBytes(SegmentIndex index, ReadOnlyMemory<byte> bytes) => (Index, _bytes) = (index, bytes);

    public SegmentIndex Index { get; }

    /// <exception cref="DamagedSegmentException">Header or footer are damaged.</exception>
    public static SegmentBytes Open(string name, ReadOnlyMemory<byte> bytes)
    {
        var footer = (int)SegmentIndex.FooterOffset(name, bytes.Length, bytes.Span);
        return new SegmentBytes(SegmentIndex.Read(name, bytes.Length, bytes[..footer], bytes[footer..]), bytes);
    }

    public void Read<TVisitor>(ref TVisitor visitor)
        where TVisitor : struct, IAccountVisitor
    {
        var raw = ArrayPool<byte>.Shared.Rent(Index.MaxRawBytes);
        try
        {
            SegmentScan.Decode(Index, 0, Index.Blocks.Length, _bytes.Span[Index.Header.Length..], raw, ref visitor);
        }
        finally
        {
            ArrayPool<byte>.Shared.Return(raw);
        }
    }

    public SegmentVerification Verify()
    {
        var domains = new DomainCounts();
        var visitor = new CountVisitor(domains);
        Read(ref visitor);
        return SegmentScan.Verify(Index, visitor.Rows, domains);
    }
}
