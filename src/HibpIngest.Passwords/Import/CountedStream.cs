namespace HibpIngest.Passwords.Import;

/// <summary>A stream whose beginning can be peeked at, and whose read position another thread can query. Leaves the source open.</summary>
internal sealed class CountedStream(Stream source) : Stream
{
    private byte[] _head = [];
    private int _headRead;
    private long _reached;

    public long Reached => Interlocked.Read(ref _reached);

    public override bool CanRead => true;

    public override bool CanSeek => source.CanSeek;

    public override bool CanWrite => false;

    public override long Length => source.Length;

    public override long Position
    {
        get => source.Position;
        set => source.Position = value;
    }

    /// <summary>Returns the first bytes; called before any are read.</summary>
    public ReadOnlySpan<byte> Peek(int bytes)
    {
        var head = new byte[bytes];
        var read = source.ReadAtLeast(head, bytes, throwOnEndOfStream: false);
        if (source.CanSeek)
            source.Position = 0;
        else
            _head = head[..read];
        return head.AsSpan(0, read);
    }

    public override int Read(Span<byte> buffer)
    {
        int read;
        if (_headRead < _head.Length)
        {
            read = Math.Min(buffer.Length, _head.Length - _headRead);
            _head.AsSpan(_headRead, read).CopyTo(buffer);
            _headRead += read;
        }
        else
        {
            read = source.Read(buffer);
        }
        Interlocked.Exchange(ref _reached, CanSeek ? Position : _reached + read);
        return read;
    }

    public override int Read(byte[] buffer, int offset, int count) => Read(buffer.AsSpan(offset, count));

    public override long Seek(long offset, SeekOrigin origin) => source.Seek(offset, origin);

    public override void Flush()
    {
    }

    public override void SetLength(long value) => throw new NotSupportedException();

    public override void Write(byte[] buffer, int offset, int count) => throw new NotSupportedException();
}
