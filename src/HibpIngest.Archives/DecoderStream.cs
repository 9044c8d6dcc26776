namespace HibpIngest.Archives;

internal abstract class DecoderStream : ForwardStream
{
    public abstract override int Read(Span<byte> buffer);

    public sealed override int Read(byte[] buffer, int offset, int count) => Read(buffer.AsSpan(offset, count));
}

/// <summary>A decoder's error, which becomes a <see cref="BadArchiveException"/> that names the entry.</summary>
internal sealed class DamagedDataException(string reason, Exception? inner = null) : Exception(reason, inner)
{
    public bool NeedsPassword { get; init; }
}

/// <summary>Doesn't dispose the source; throws if it ends early.</summary>
internal sealed class SectionStream(Stream source, long length) : DecoderStream
{
    public long Remaining { get; private set; } = length;

    public override int Read(Span<byte> buffer)
    {
        if (buffer.Length > Remaining)
            buffer = buffer[..(int)Remaining];
        if (buffer.IsEmpty)
            return 0;
        var read = source.Read(buffer);
        if (read == 0)
            throw new DamagedDataException($"cut off: {Remaining:N0} bytes of its data are missing");
        Remaining -= read;
        return read;
    }
}
