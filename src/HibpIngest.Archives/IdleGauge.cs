namespace HibpIngest.Archives;

/// <summary>
/// What goes into one decoder beside what comes out of it. The excess is idle: empty deflate blocks and empty
/// gzip members cost time and yield nothing that another limit would count.
/// </summary>
internal sealed class IdleGauge(InflationMeter meter, EntryName entry)
{
    /// <summary>Excess that is not counted: what the formats themselves add to a small text.</summary>
    private const int FreeBytes = 1024;

    /// <summary>
    /// And to one that doesn't deflate, as a part of it: zlib-ng at its fastest makes noise longer by an
    /// eighteenth.
    /// </summary>
    private const int FreePart = 8;

    private long _in;
    private long _out;
    private long _idle;

    /// <summary>Compressed bytes that the decoder is done with.</summary>
    public void In(int bytes)
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
