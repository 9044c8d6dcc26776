using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics;

namespace HibpIngest.Journal.Segments;

/// <summary>Decodes a block. Checks everything against its limits before use; allocates nothing per account or block.</summary>
internal static class BlockDecoder
{
    public const byte FirstCharacter = 0x21;

    public const byte LastCharacter = 0x7E;

    /// <summary>A nibble of this value means that another byte of the length follows.</summary>
    public const int NibbleFull = 15;

    /// <summary>A token, and one more byte for either length.</summary>
    private const int MaxLengthBytes = 3;

    /// <param name="rawBuffer">At least <see cref="SegmentBlock.RawBytes"/> of the block.</param>
    /// <exception cref="DamagedSegmentException">
    /// The block is damaged. If its checksum is right but its content is not, the visitor may have received part of it.
    /// </exception>
    public static void Decode<TVisitor>(
        string segment, in SegmentBlock block, ReadOnlySpan<byte> bytes, Span<byte> rawBuffer, ref TVisitor visitor)
        where TVisitor : struct, IAccountVisitor
    {
        var frame = BlockFrame.Read(segment, block, bytes);
        var raw = bytes[SegmentLimits.FrameBytes..];
        if (frame.Codec != BlockCodec.None)
        {
            if (!PayloadCodec.TryDecompress(frame.Codec, raw, rawBuffer[..block.RawBytes]))
                throw new DamagedSegmentException(
                    segment, block.Number, block.Offset, $"its payload is not {block.RawBytes} bytes by codec {(int)frame.Codec}");
            raw = rawBuffer[..block.RawBytes];
        }
        visitor.BeginBlock(block);
        if (Visit(raw, block.Rows, frame.Domains, ref visitor) is { } problem)
            throw new DamagedSegmentException(segment, block.Number, block.Offset, problem);
    }

    /// <returns>Null, or what is wrong with the payload.</returns>
    private static string? Visit<TVisitor>(ReadOnlySpan<byte> raw, int rows, int domains, ref TVisitor visitor)
        where TVisitor : struct, IAccountVisitor
    {
        Span<byte> aliasBuffer = stackalloc byte[SegmentLimits.AliasBytes];
        var at = 0;
        if (!Varint.TryRead(raw, ref at, out var found) || found != domains)
            return "its payload has another number of domains than its frame";
        ReadOnlySpan<byte> domainBefore = [];
        for (; domains > 0; domains--)
        {
            if (at >= raw.Length)
                return "its payload ends before its last domain";
            var domainLength = raw[at++];
            if (domainLength < SegmentLimits.MinDomainBytes || domainLength > raw.Length - at)
                return "a domain is shorter than one can be, or longer than what is left";
            var domain = raw.Slice(at, domainLength);
            at += domainLength;
            if (domain.ContainsAnyExceptInRange(FirstCharacter, LastCharacter))
                return "a domain holds a byte that is not a printable ASCII character";
            if (domain.SequenceCompareTo(domainBefore) <= 0)
                return "its domains are not in order";
            domainBefore = domain;
            if (!Varint.TryRead(raw, ref at, out var domainRows) || domainRows < 1 || domainRows > rows)
                return "a domain has no rows, or more than are left";
            rows -= domainRows;
            visitor.BeginDomain(domain, domainRows);

            if (VisitRows(raw, ref at, domainRows, domain, aliasBuffer, ref visitor) is { } problem)
                return problem;
        }
        return rows != 0 ? "its domains have fewer rows than its frame"
            : at != raw.Length ? "its payload continues after its last row" : null;
    }

    private static string? VisitRows<TVisitor>(
        ReadOnlySpan<byte> raw, ref int position, int rows, ReadOnlySpan<byte> domain, Span<byte> aliasBuffer, ref TVisitor visitor)
        where TVisitor : struct, IAccountVisitor
    {
        var (at, before) = (position, 0);
        var firstBytes = Vector256<byte>.Zero; // of aliasBuffer
        for (; rows > 0; rows--)
        {
            if (!TryReadLengths(raw, ref at, out var prefix, out var suffix))
                return "its payload ends before its last row";
            var (length, start) = (prefix + suffix, at - prefix);
            if (prefix > before || length > SegmentLimits.AliasBytes || suffix > raw.Length - at)
                return "an alias is longer than one can be, or than what is left, or shares more than there was";
            // An alias shares a prefix with the previous one and then has a larger byte; an empty suffix means that it repeats it.
            if (suffix == 0 ? prefix < before || before == 0 : prefix < before && raw[at] <= aliasBuffer[prefix])
                return "its aliases are not in order";
            bool isPrintable;
            if (length <= Vector256<byte>.Count && start >= 0 && raw.Length - start >= Vector256<byte>.Count)
            {
                // From PREFIX bytes before the suffix on, each byte of the payload is at its place in the alias. The alias is built in a
                // register and stored at once: the processor waits when it reads what two stores have written.
                var isShared = Vector256.LessThan(Vector256<sbyte>.Indices, Vector256.Create((sbyte)prefix)).AsByte();
                firstBytes = Vector256.ConditionalSelect(isShared, firstBytes, Vector256.Create(raw[start..]));
                firstBytes.CopyTo(aliasBuffer);
                isPrintable = (Unprintable(firstBytes) & ((1UL << length) - 1)) == 0;
            }
            else
            {
                isPrintable = TryCopy(raw.Slice(at, suffix), aliasBuffer[prefix..]);
                firstBytes = Vector256.Create<byte>(aliasBuffer);
            }
            if (!isPrintable)
                return "an alias holds a byte that is not a printable ASCII character";
            at += suffix;
            before = length;
            visitor.Account(aliasBuffer[..length], domain);
        }
        position = at;
        return null;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static bool TryReadLengths(ReadOnlySpan<byte> raw, ref int at, out int prefix, out int suffix)
    {
        if (raw.Length - at >= MaxLengthBytes)
        {
            // Branch-free: whether a suffix has 15 bytes is unpredictable, and a misprediction takes longer than all of this.
            var lengths = raw.Slice(at, MaxLengthBytes);
            (prefix, suffix) = (lengths[0] >> 4, lengths[0] & NibbleFull);
            var (morePrefix, moreSuffix) = (prefix == NibbleFull ? 1 : 0, suffix == NibbleFull ? 1 : 0);
            prefix += lengths[1] & -morePrefix;
            suffix += (morePrefix == 0 ? lengths[1] : lengths[2]) & -moreSuffix;
            at += 1 + morePrefix + moreSuffix;
            return true;
        }
        (prefix, suffix) = (0, 0);
        if (at >= raw.Length)
            return false;
        var token = raw[at++];
        (prefix, suffix) = (token >> 4, token & NibbleFull);
        if (prefix == NibbleFull)
        {
            if (at >= raw.Length)
                return false;
            prefix += raw[at++];
        }
        if (suffix == NibbleFull)
        {
            if (at >= raw.Length)
                return false;
            suffix += raw[at++];
        }
        return true;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool TryCopy(ReadOnlySpan<byte> source, Span<byte> destination)
    {
        source.CopyTo(destination);
        return !source.ContainsAnyExceptInRange(FirstCharacter, LastCharacter);
    }

    /// <summary>Returns a bit for each byte that is not a printable ASCII character.</summary>
    private static uint Unprintable(Vector256<byte> bytes) => Vector256.GreaterThan(
        bytes - Vector256.Create(FirstCharacter), Vector256.Create((byte)(LastCharacter - FirstCharacter))).ExtractMostSignificantBits();
}
