namespace HibpIngest.Journal.Segments;

internal sealed class BlockEncoder(BlockCodec codec) : IDisposable
{
    /// <summary>The only layout so far.</summary>
    public const byte Layout = 1;

    /// <summary>Per domain: the length and the number of its rows.</summary>
    private const int DomainExtraBytes = 1 + 5;

    /// <summary>Per row: the token, and one extra byte for either length.</summary>
    private const int RowExtraBytes = 3;

    private readonly AccountSort _sort = new();
    private PooledArray<byte> _raw;
    private PooledArray<byte> _block;

    /// <param name="place">Number, slice and offset of the block.</param>
    /// <returns>Frame and payload, valid until the next call.</returns>
    public ReadOnlyMemory<byte> Encode(SegmentBlock place, AccountBatch rows, DomainCounts domains, out SegmentBlock block)
    {
        Check(rows);
        _sort.Sort(rows);
        var raw = _raw.Get(5 + rows.Bytes + (_sort.Domains * DomainExtraBytes) + (rows.Count * RowExtraBytes));
        var rawBytes = WritePayload(rows, domains, raw);
        var bytes = _block.Get(SegmentLimits.FrameBytes + rawBytes);
        var payload = bytes.AsSpan(SegmentLimits.FrameBytes, rawBytes);
        var storedBytes = PayloadCodec.Compress(codec, raw.AsSpan(0, rawBytes), payload);
        if (storedBytes == 0)
            raw.AsSpan(0, rawBytes).CopyTo(payload);
        block = place with
        {
            First = rows.FirstPosition,
            Rows = rows.Count,
            StoredBytes = storedBytes == 0 ? rawBytes : storedBytes,
            RawBytes = rawBytes,
        };
        var whole = bytes.AsSpan(0, SegmentLimits.FrameBytes + block.StoredBytes);
        new BlockFrame(block, _sort.Domains, storedBytes == 0 ? BlockCodec.None : codec).Write(whole);
        block = block with { Crc = BlockFrame.Crc(whole) };
        BinaryPrimitives.WriteUInt32LittleEndian(whole[BlockFrame.CrcOffset..], block.Crc);
        return bytes.AsMemory(0, whole.Length);
    }

    public void Dispose()
    {
        _sort.Dispose();
        _raw.Dispose();
        _block.Dispose();
    }

    private static void Check(AccountBatch rows)
    {
        if (rows.Memory.Span.ContainsAnyExceptInRange(BlockDecoder.FirstCharacter, BlockDecoder.LastCharacter))
            throw new BadInputException(
                "a row has a byte that is not printable ASCII, which the extractor refuses: a defect of the program that wrote it");
        for (var row = 0; row < rows.Count; row++)
        {
            var (alias, domain) = (rows.Alias(row).Length, rows.Domain(row).Length);
            if (alias is < 1 or > SegmentLimits.AliasBytes || domain is < SegmentLimits.MinDomainBytes or > SegmentLimits.DomainBytes)
                throw new BadInputException(
                    $"the row at position {rows.FirstPosition + row}: expected an alias of 1 to {SegmentLimits.AliasBytes} bytes and a "
                    + $"domain of {SegmentLimits.MinDomainBytes} to {SegmentLimits.DomainBytes}, found {alias} and {domain}");
        }
    }

    private int WritePayload(AccountBatch rows, DomainCounts domains, Span<byte> raw)
    {
        var order = _sort.Order;
        var length = Varint.Write(raw, _sort.Domains);
        for (var (rank, next) = (0, 0); rank < _sort.Domains; rank++)
        {
            var domain = rows.Domain(order[next]);
            var count = _sort.Rows(rank);
            domains.Add(domain, count);
            raw[length++] = (byte)domain.Length;
            domain.CopyTo(raw[length..]);
            length += domain.Length;
            length += Varint.Write(raw[length..], count);
            ReadOnlySpan<byte> before = [];
            for (var end = next + count; next < end; next++)
            {
                var alias = rows.Alias(order[next]);
                var prefix = alias.CommonPrefixLength(before);
                var suffix = alias.Length - prefix;
                raw[length++] = (byte)((Math.Min(prefix, BlockDecoder.NibbleFull) << 4) | Math.Min(suffix, BlockDecoder.NibbleFull));
                if (prefix >= BlockDecoder.NibbleFull)
                    raw[length++] = (byte)(prefix - BlockDecoder.NibbleFull);
                if (suffix >= BlockDecoder.NibbleFull)
                    raw[length++] = (byte)(suffix - BlockDecoder.NibbleFull);
                alias[prefix..].CopyTo(raw[length..]);
                length += suffix;
                before = alias;
            }
        }
        return length;
    }
}
