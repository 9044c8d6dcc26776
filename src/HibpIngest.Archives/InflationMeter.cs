namespace HibpIngest.Archives;

/// <summary>Counts the work that an archive causes, over all levels, and throws at its limits.</summary>
internal sealed class InflationMeter(ArchiveLimits limits, long archiveBytes)
{
    // One comparison serves both limits: the ratio applies above the grace, the absolute limit always.
    private readonly long _maxInflated = Math.Min(
        limits.MaxInflatedBytes,
        Math.Max(limits.RatioGraceBytes, (long)Int128.Min((Int128)archiveBytes * limits.MaxInflationRatio, long.MaxValue)));

    public long InflatedBytes { get; private set; }

    public long EntriesOpened { get; private set; }

    public long IdleBytes { get; private set; }

    public void StartAt(ArchivePosition position) =>
        (InflatedBytes, EntriesOpened, IdleBytes) = (position.InflatedBytes, position.EntriesOpened, position.IdleBytes);

    public void CountEntry(EntryName entry)
    {
        if (++EntriesOpened > limits.MaxEntries)
        {
            throw new BadArchiveException(
                $"{entry}: the archive and those within it hold more than {limits.MaxEntries:N0} entries (limit MaxEntries); if you "
                + "trust the archive, raise HIBP_LIMITS__MAXENTRIES");
        }
    }

    public void CountBytes(int bytes, EntryName entry)
    {
        InflatedBytes += bytes;
        if (InflatedBytes <= _maxInflated)
            return;
        throw new BadArchiveException(InflatedBytes > limits.MaxInflatedBytes
            ? $"{entry}: the archive inflates to more than {limits.MaxInflatedBytes:N0} bytes (limit MaxInflatedBytes); if you "
            + "trust the archive, raise HIBP_LIMITS__MAXINFLATEDBYTES"
            : $"{entry}: the archive of {archiveBytes:N0} bytes inflates to more than {limits.MaxInflationRatio:N0} times its size "
              + "(limit MaxInflationRatio), a sign of a zip bomb; if you trust the archive, raise HIBP_LIMITS__MAXINFLATIONRATIO");
    }

    /// <param name="bytes">Negative if input that was counted as idle has produced output after all.</param>
    public void CountIdle(long bytes, EntryName entry)
    {
        IdleBytes += bytes;
        if (bytes <= 0 || IdleBytes <= limits.MaxIdleBytes)
            return;
        throw new BadArchiveException(
            $"{entry}: the archive holds more than {limits.MaxIdleBytes:N0} compressed bytes that inflate to nothing "
            + "(limit MaxIdleBytes), a sign of a zip bomb; if you trust the archive, raise HIBP_LIMITS__MAXIDLEBYTES");
    }

    public void CheckNesting(int depth, EntryName entry)
    {
        if (depth > limits.MaxNesting)
        {
            throw new BadArchiveException(
                $"{entry}: an archive {depth} deep, at most {limits.MaxNesting} are opened (limit MaxNesting); repack it flat, or "
                + "raise HIBP_LIMITS__MAXNESTING");
        }
    }
}

/// <summary>Counts input beyond the output: empty deflate blocks and gzip members take time, and no other limit counts them.</summary>
internal sealed class IdleGauge(InflationMeter meter, EntryName entry)
{
    // The formats' own overhead in a small text.
    private const int FreeBytes = 1024;

    /// <summary>A further 1/8 of the output is free, for data that doesn't compress: zlib-ng's fastest level adds 1/18 to noise.</summary>
    private const int FreePart = 8;

    private long _in;
    private long _out;
    private long _idle;

    public void CountInput(int bytes)
    {
        _in += bytes;
        Count();
    }

    public void Out(int bytes)
    {
        _out += bytes;
        if (_idle > 0)
            Count();
    }

    private void Count()
    {
        var idle = Math.Max(0, _in - _out - (_out / FreePart) - FreeBytes);
        if (idle == _idle)
            return;
        meter.CountIdle(idle - _idle, entry);
        _idle = idle;
    }
}

/// <summary>Passes compressed bytes to a decoder, and counts them when it requests more, since it has processed them by then.</summary>
internal sealed class GaugedStream(Stream source, IdleGauge gauge) : DecoderStream
{
    private int _given;

    public override int Read(Span<byte> buffer)
    {
        gauge.CountInput(_given);
        _given = 0;
        _given = source.Read(buffer);
        return _given;
    }

    protected override void Dispose(bool disposing)
    {
        if (disposing)
            source.Dispose();
        base.Dispose(disposing);
    }
}
