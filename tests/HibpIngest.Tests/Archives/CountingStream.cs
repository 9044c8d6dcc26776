namespace HibpIngest.Tests.Archives;

internal sealed class CountingStream(byte[] data) : MemoryStream(data, writable: false)
{
    public long BytesRead { get; private set; }

    // Overridden because a class derived from MemoryStream gets its span reads here.
    public override int Read(byte[] buffer, int offset, int count)
    {
        var read = base.Read(buffer, offset, count);
        BytesRead += read;
        return read;
    }
}
