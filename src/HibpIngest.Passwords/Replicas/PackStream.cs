namespace HibpIngest.Passwords.Replicas;

/// <summary>A pack as a stream, read with a few megabytes in memory at a time.</summary>
internal sealed class PackStream(IPasswordBlobs blobs, ReleaseKey release, string name, PackRecord pack) : ForwardStream
{
    private const int WindowBytes = 4 << 20;

    private ReadOnlyMemory<byte> _window;
    private long _next;

    public override async ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
    {
        if (_window.IsEmpty && _next < pack.Length)
        {
            var length = (int)Math.Min(WindowBytes, pack.Length - _next);
            var part = await blobs.ReadPartAsync(name, pack.ETag, _next, length, cancellationToken)
                ?? throw new RangeMissingException(release);
            (_window, _next) = (part.Bytes, _next + length);
        }
        var taken = Math.Min(buffer.Length, _window.Length);
        _window[..taken].CopyTo(buffer);
        _window = _window[taken..];
        return taken;
    }

    public override int Read(byte[] buffer, int offset, int count) => throw new NotSupportedException();
}
