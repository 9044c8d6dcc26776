namespace HibpIngest.Archives;

/// <summary>Counts the work that an archive causes, over all levels, and throws at its limits.</summary>
internal sealed class InflationMeter
{
    private readonly ArchiveLimits _limits;
    private readonly long _archiveBytes;
    private readonly long _mostInflated;

    public InflationMeter(ArchiveLimits limits, long archiveBytes)
    {
        _limits = limits;
        _archiveBytes = archiveBytes;
        var byRatio = (long)Int128.Min((Int128)archiveBytes * limits.MaxInflationRatio, long.MaxValue);
        // One comparison serves both limits: the ratio applies above the grace, the absolute limit always.
        _mostInflated = Math.Min(limits.MaxInflatedBytes, Math.Max(limits.RatioGraceBytes, byRatio));
    }

    public long InflatedBytes { get; private set; }

    public long EntriesOpened { get; private set; }

    public long IdleBytes { get; private set; }

    public void StartAt(ArchivePosition position) =>
        (InflatedBytes, EntriesOpened, IdleBytes) = (position.InflatedBytes, position.EntriesOpened, position.IdleBytes);

    public void CountEntry(EntryName entry)
    {
        if (++EntriesOpened > _limits.MaxEntries)
        {
            throw new BadArchiveException(
                $"{entry}: the archive and those within it hold more than {_limits.MaxEntries:N0} entries (limit MaxEntries); raise the "
                + "limit if the archive can be trusted");
        }
    }

    public void CountBytes(int bytes, EntryName entry)
    {
        InflatedBytes += bytes;
        if (InflatedBytes <= _mostInflated)
            return;
        throw new BadArchiveException(InflatedBytes > _limits.MaxInflatedBytes
            ? $"{entry}: the archive inflates to more than {_limits.MaxInflatedBytes:N0} bytes (limit MaxInflatedBytes); raise the limit "
            + "if it can be trusted"
            : $"{entry}: the archive of {_archiveBytes:N0} bytes inflates to more than {_limits.MaxInflationRatio:N0} times its size "
              + "(limit MaxInflationRatio): a zip bomb, or raise the limit if it can be trusted");
    }

    /// <param name="bytes">Negative if input that was counted as idle has produced output after all.</param>
    public void CountIdle(long bytes, EntryName entry)
    {
        IdleBytes += bytes;
        if (bytes <= 0 || IdleBytes <= _limits.MaxIdleBytes)
            return;
        throw new BadArchiveException(
            $"{entry}: the archive holds more than {_limits.MaxIdleBytes:N0} compressed bytes that inflate to nothing "
            + "(limit MaxIdleBytes): a zip bomb, or raise the limit if it can be trusted");
    }

    public void CheckNesting(int depth, EntryName entry)
    {
        if (depth > _limits.MaxNesting)
        {
            throw new BadArchiveException(
                $"{entry}: an archive {depth} deep, at most {_limits.MaxNesting} are opened (limit MaxNesting); raise the limit, or "
                + "repack it flat");
        }
    }
}
