using System.Runtime.Intrinsics;

namespace HibpIngest.AccountLog;

/// <summary>
/// Reads a block: everything is held against its limits before it is used. Nothing is allocated, per account or block.
/// </summary>
internal static class BlockDecoder
{
    /// <summary>Of an account's characters, the first: '!',</summary>
    public const byte FirstCharacter = 0x21;

    /// <summary>and the last: '~'.</summary>
    public const byte LastCharacter = 0x7E;

    /// <summary>A nibble that says that another byte follows.</summary>
    public const int NibbleFull = 15;

    /// <summary>A token, and a byte more for either length.</summary>
    private const int MostLengthBytes = 3;

    /// <param name="rawBuffer">Room for at least the block's <see cref="SegmentBlock.RawBytes"/>.</param>
    /// <exception cref="DamagedSegmentException">
    /// It is not what was sealed. Of a block whose checksum is right, but whose content is not, the visitor may have had a part.
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

    /// <summary>Null, or what is wrong with it.</summary>
    private static string? Visit<TVisitor>(ReadOnlySpan<byte> raw, int rows, int domains, ref TVisitor visitor)
        where TVisitor : struct, IAccountVisitor
    {
        Span<byte> aliasBuffer = stackalloc byte[SegmentLimits.AliasBytes + Vector256<byte>.Count];
        var at = 0;
        if (!Varint.TryRead(raw, ref at, out var found) || found != domains)
            return "its payload has another number of domains than its frame";
        ReadOnlySpan<byte> domainBefore = [];
        for (; domains > 0; domains--)
        {
            if (at >= raw.Length)
                return "its payload ends before its last domain";
            var domainLength = raw[at++];
            if (domainLength < SegmentLimits.LeastDomainBytes || domainLength > raw.Length - at)
                return "a domain is shorter than one can be, or longer than what is left";
            var domain = raw.Slice(at, domainLength);
            at += domainLength;
            if (domain.ContainsAnyExceptInRange(FirstCharacter, LastCharacter))
                return "a domain holds what is no printable ASCII character";
            if (domain.SequenceCompareTo(domainBefore) <= 0)
                return "its domains are not in order";
            domainBefore = domain;
            if (!Varint.TryRead(raw, ref at, out var domainRows) || domainRows < 1 || domainRows > rows)
                return "a domain has no rows, or more than are left";
            rows -= domainRows;
            visitor.BeginDomain(domain, domainRows);

            var before = 0;
            for (; domainRows > 0; domainRows--)
            {
                if (!TryReadLengths(raw, ref at, out var prefix, out var suffix))
                    return "its payload ends before its last row";
                if (prefix > before || prefix + suffix > SegmentLimits.AliasBytes || suffix > raw.Length - at)
                    return "an alias is longer than one can be, or than what is left, or shares more than there was";
                // As many bytes as are shared, and behind them a larger one; nothing more only where the alias is the one before it.
                if (suffix == 0 ? prefix < before || before == 0 : prefix < before && raw[at] <= aliasBuffer[prefix])
                    return "its aliases are not in order";
                if (!TryCopySuffix(raw[at..], suffix, aliasBuffer[prefix..]))
                    return "an alias holds what is no printable ASCII character";
                at += suffix;
                before = prefix + suffix;
                visitor.Account(domain, aliasBuffer[..before]);
            }
        }
        return rows != 0 ? "its domains have fewer rows than its frame"
            : at != raw.Length ? "its payload goes on behind its last row" : null;
    }

    /// <summary>The token of a row, and what it can't say of prefix and suffix.</summary>
    private static bool TryReadLengths(ReadOnlySpan<byte> raw, ref int at, out int prefix, out int suffix)
    {
        if (raw.Length - at >= MostLengthBytes)
        {
            // Without a branch: whether a suffix has 15 bytes is a coin's toss, and guessing wrong takes longer than all of this.
            var lengths = raw.Slice(at, MostLengthBytes);
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

    private static bool TryCopySuffix(ReadOnlySpan<byte> source, int length, Span<byte> destination)
    {
        // Most are shorter: 32 bytes are copied and looked at in fewer instructions than it takes to ask how many they are.
        if (length < Vector256<byte>.Count && source.Length >= Vector256<byte>.Count)
        {
            var bytes = Vector256.Create(source);
            bytes.CopyTo(destination);
            var bad = Vector256.GreaterThan(
                bytes - Vector256.Create(FirstCharacter), Vector256.Create((byte)(LastCharacter - FirstCharacter)));
            return (bad.ExtractMostSignificantBits() & ((1U << length) - 1)) == 0;
        }
        source = source[..length];
        source.CopyTo(destination);
        return !source.ContainsAnyExceptInRange(FirstCharacter, LastCharacter);
    }
}
