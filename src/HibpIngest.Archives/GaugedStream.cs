namespace HibpIngest.Archives;

/// <summary>Passes compressed bytes to a decoder, and counts them when it asks for more, since it has processed them by then.</summary>
internal sealed class GaugedStream(Stream source, IdleGauge gauge) : DecoderStream
{
    private int _given;

    public override int Read(Span<byte> buffer)
    {
        gauge.In(_given);
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
