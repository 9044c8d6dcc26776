namespace HibpIngest.Archives;

/// <summary>A forward-only, synchronous stream.</summary>
internal abstract class DecoderStream : ForwardStream
{
    public abstract override int Read(Span<byte> buffer);

    public sealed override int Read(byte[] buffer, int offset, int count) => Read(buffer.AsSpan(offset, count));
}
