namespace HibpIngest.Archives;

/// <summary>Hands compressed bytes to a decoder, and counts them when it asks for more: by then it is done with them.</summary>
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
