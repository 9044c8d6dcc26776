namespace HibpIngest.Journal.Segments;

internal static class SegmentHeader
{
    private const ushort Version = 1;
    private const int FixedBytes = 86;

    public const int MinBytes = FixedBytes + CrcBytes;

    private const int CrcBytes = sizeof(uint);

    private static readonly UTF8Encoding Utf8 = new(encoderShouldEmitUTF8Identifier: false, throwOnInvalidBytes: true);

    private static ReadOnlySpan<byte> Magic => "HSEG"u8;

    public static byte[] Write(SegmentFacts facts)
    {
        if (Problem(facts) is { } problem)
            throw new BadInputException($"a segment of load {facts.Load} can't be written: {problem}");
        byte[][] names;
        try
        {
            names = [Utf8.GetBytes(facts.Breach), Utf8.GetBytes(facts.Blob.Name), Utf8.GetBytes(facts.Blob.ETag)];
        }
        catch (EncoderFallbackException)
        {
            throw new BadInputException(
                $"a segment of load {facts.Load} can't be written: the name of its breach or blob, or its ETag, is not valid Unicode");
        }
        var length = MinBytes + names.Sum(name => name.Length);
        if (length > SegmentLimits.HeaderBytes)
            throw new BadInputException(
                $"a segment of load {facts.Load} can't be written: the names of its breach and blob make a header of {length} bytes, "
                + $"expected at most {SegmentLimits.HeaderBytes}");
        var header = new byte[length];
        Magic.CopyTo(header);
        BinaryPrimitives.WriteUInt16LittleEndian(header.AsSpan(4), Version);
        BinaryPrimitives.WriteInt32LittleEndian(header.AsSpan(8), length);
        BinaryPrimitives.WriteInt32LittleEndian(header.AsSpan(12), facts.ExtractorVersion);
        BinaryPrimitives.WriteInt64LittleEndian(header.AsSpan(16), facts.Load.Value);
        BinaryPrimitives.WriteInt32LittleEndian(header.AsSpan(24), facts.Mark);
        BinaryPrimitives.WriteInt32LittleEndian(header.AsSpan(28), facts.BatchRows);
        BinaryPrimitives.WriteInt32LittleEndian(header.AsSpan(32), facts.SliceRows);
        BinaryPrimitives.WriteInt32LittleEndian(header.AsSpan(36), facts.Generation);
        facts.Store.TryWriteBytes(header.AsSpan(40), bigEndian: true, out _);
        BinaryPrimitives.WriteInt64LittleEndian(header.AsSpan(56), facts.StartedAt.ToUnixTimeMilliseconds());
        BinaryPrimitives.WriteInt64LittleEndian(header.AsSpan(64), facts.First);
        BinaryPrimitives.WriteInt64LittleEndian(header.AsSpan(72), facts.Last);
        var at = FixedBytes;
        for (var i = 0; i < names.Length; i++)
        {
            BinaryPrimitives.WriteUInt16LittleEndian(header.AsSpan(80 + (i * sizeof(ushort))), (ushort)names[i].Length);
            names[i].CopyTo(header, at);
            at += names[i].Length;
        }
        BinaryPrimitives.WriteUInt32LittleEndian(header.AsSpan(at), Crc32C.Compute(header.AsSpan(0, at)));
        return header;
    }

    /// <param name="start">The segment's first bytes: all of it, or at least <see cref="SegmentLimits.HeaderBytes"/>.</param>
    public static SegmentFacts Read(string segment, ReadOnlyMemory<byte> start, out ReadOnlyMemory<byte> bytes)
    {
        var header = start.Span;
        if (header.Length < MinBytes || !header.StartsWith(Magic))
            throw Damage(segment, 0, "no segment begins here");
        var version = BinaryPrimitives.ReadUInt16LittleEndian(header[4..]);
        if (version != Version || BinaryPrimitives.ReadUInt16LittleEndian(header[6..]) != 0)
            throw Damage(segment, 4, $"its format has version {version}, and this program reads version {Version}");
        var length = BinaryPrimitives.ReadInt32LittleEndian(header[8..]);
        if (length < MinBytes || length > Math.Min(header.Length, SegmentLimits.HeaderBytes))
            throw Damage(segment, 8, $"its header has {length} bytes, and at most {SegmentLimits.HeaderBytes} were expected");
        bytes = start[..length];
        header = header[..length];
        if (Crc(header) != Crc32C.Compute(header[..^CrcBytes]))
            throw Damage(segment, 0, "the header's checksum is not that of its bytes");
        Span<int> lengths = stackalloc int[3];
        for (var i = 0; i < lengths.Length; i++)
            lengths[i] = BinaryPrimitives.ReadUInt16LittleEndian(header[(80 + (i * sizeof(ushort)))..]);
        if (lengths[0] + lengths[1] + lengths[2] != length - MinBytes)
            throw Damage(segment, 80, "the header's names have other lengths than there is room for");
        var milliseconds = BinaryPrimitives.ReadInt64LittleEndian(header[56..]);
        if (milliseconds < DateTimeOffset.MinValue.ToUnixTimeMilliseconds()
            || milliseconds > DateTimeOffset.MaxValue.ToUnixTimeMilliseconds())
            throw Damage(segment, 56, "its load started at no date");
        string breach, name, etag;
        try
        {
            breach = Utf8.GetString(header.Slice(FixedBytes, lengths[0]));
            name = Utf8.GetString(header.Slice(FixedBytes + lengths[0], lengths[1]));
            etag = Utf8.GetString(header.Slice(FixedBytes + lengths[0] + lengths[1], lengths[2]));
        }
        catch (DecoderFallbackException)
        {
            throw Damage(segment, FixedBytes, "a name in the header is no Unicode text");
        }
        var facts = new SegmentFacts
        {
            ExtractorVersion = BinaryPrimitives.ReadInt32LittleEndian(header[12..]),
            Load = new(BinaryPrimitives.ReadInt64LittleEndian(header[16..])),
            Mark = BinaryPrimitives.ReadInt32LittleEndian(header[24..]),
            BatchRows = BinaryPrimitives.ReadInt32LittleEndian(header[28..]),
            SliceRows = BinaryPrimitives.ReadInt32LittleEndian(header[32..]),
            Generation = BinaryPrimitives.ReadInt32LittleEndian(header[36..]),
            Store = new Guid(header.Slice(40, 16), bigEndian: true),
            StartedAt = DateTimeOffset.FromUnixTimeMilliseconds(milliseconds),
            First = BinaryPrimitives.ReadInt64LittleEndian(header[64..]),
            Last = BinaryPrimitives.ReadInt64LittleEndian(header[72..]),
            Breach = breach,
            Blob = new BlobVersion(name, etag),
        };
        return Problem(facts) is { } problem ? throw Damage(segment, 0, problem) : facts;
    }

    public static uint Crc(ReadOnlySpan<byte> header) => BinaryPrimitives.ReadUInt32LittleEndian(header[^CrcBytes..]);

    private static string? Problem(SegmentFacts facts) =>
        facts.Load.Value < 1 || facts.Mark < 1 || facts.Generation < 0 || facts.BatchRows < 1
            ? $"load {facts.Load}, mark {facts.Mark}, generation {facts.Generation} or {facts.BatchRows} rows a batch is no number of one"
        : facts.SliceRows is < 1 or > SegmentLimits.BlockRows
            ? $"its slices have {facts.SliceRows} rows, and at most {SegmentLimits.BlockRows} were expected"
        : facts.First < 1 || facts.Last < facts.First || facts.Last - facts.First >= SegmentLimits.Rows
            ? $"it has positions {facts.First} to {facts.Last}, expected at most {SegmentLimits.Rows} of them"
        : null;

    public static DamagedSegmentException Damage(string segment, long offset, string problem) => new(segment, null, offset, problem);
}

/// <summary>The facts in a segment's header.</summary>
public sealed record SegmentFacts
{
    /// <summary>The store that numbered the load and the mark.</summary>
    public required Guid Store { get; init; }

    public required LoadId Load { get; init; }

    /// <summary>The load's property in the account table.</summary>
    public required int Mark { get; init; }

    public required BlobVersion Blob { get; init; }

    /// <summary>Counts how often the load's segments were rewritten, from 0.</summary>
    public int Generation { get; init; }

    /// <summary>Stored in whole milliseconds.</summary>
    public required DateTimeOffset StartedAt { get; init; }

    public required string Breach { get; init; }

    /// <summary>The load's positions depend on it.</summary>
    public required int ExtractorVersion { get; init; }

    public required int BatchRows { get; init; }

    /// <summary>Maximum rows of a block.</summary>
    public required int SliceRows { get; init; }

    /// <summary>Position (1-based) of the first row within the load.</summary>
    public required long First { get; init; }

    public required long Last { get; init; }

    public long Rows => Last - First + 1;
}
