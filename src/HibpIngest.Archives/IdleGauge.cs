namespace HibpIngest.Archives;

/// <summary>
/// Compares a decoder's input with its output. The excess is idle: empty deflate blocks and empty gzip members take time and produce
/// nothing that another limit would count.
/// </summary>
internal sealed class IdleGauge(InflationMeter meter, EntryName entry)
{
    /// <summary>Excess that is not counted: the formats' own overhead in a small text.</summary>
    private const int FreeBytes = 1024;

    /// <summary>A further 1/8 of the output is free, for data that doesn't compress: zlib-ng's fastest level adds 1/18 to noise.</summary>
    private const int FreePart = 8;

    private long _in;
    private long _out;
    private long _idle;

    /// <summary>Counts compressed bytes that the decoder has processed.</summary>
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
