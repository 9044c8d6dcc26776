using System.Buffers;

namespace HibpIngest.Archives;

/// <summary>Reads a stream forward through a buffer that allows peeking.</summary>
internal sealed class ForwardReader : DecoderStream
{
    /// <summary>More than the longest local header (131,100 bytes).</summary>
    private const int BufferBytes = 1 << 18;

    private readonly Stream _source;
    private byte[] _buffer = ArrayPool<byte>.Shared.Rent(BufferBytes);
    private int _start;
    private int _end;

    /// <param name="source">Not disposed.</param>
    public ForwardReader(Stream source) => _source = source;

    /// <summary>Returns the next bytes without consuming them: at least the requested number, unless the stream ends before.</summary>
    public ArraySegment<byte> Peek(int bytes)
    {
        while (_end - _start < bytes)
        {
            if (_buffer.Length - _start < bytes || _start > BufferBytes / 2)
            {
                _buffer.AsSpan(_start, _end - _start).CopyTo(_buffer);
                _end -= _start;
                _start = 0;
            }
            var read = _source.Read(_buffer, _end, _buffer.Length - _end);
            if (read == 0)
                break;
            _end += read;
        }
        return new ArraySegment<byte>(_buffer, _start, _end - _start);
    }

    /// <summary>Consumes bytes that were peeked.</summary>
    public void Take(int bytes)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThan(bytes, _end - _start);
        ArgumentOutOfRangeException.ThrowIfNegative(bytes);
        _start += bytes;
    }

    public override int Read(Span<byte> buffer)
    {
        var read = Math.Min(buffer.Length, _end - _start);
        if (read == 0)
            return _source.Read(buffer);
        _buffer.AsSpan(_start, read).CopyTo(buffer);
        _start += read;
        return read;
    }

    protected override void Dispose(bool disposing)
    {
        if (disposing && _buffer.Length > 0)
        {
            ArrayPool<byte>.Shared.Return(_buffer);
            _buffer = [];
            _start = _end = 0;
        }
        base.Dispose(disposing);
    }
}
