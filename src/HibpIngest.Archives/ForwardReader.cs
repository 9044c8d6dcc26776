using System.Buffers;
using ICSharpCode.SharpZipLib;
using ICSharpCode.SharpZipLib.Zip.Compression;

namespace HibpIngest.Archives;

/// <param name="source">Not disposed.</param>
internal sealed class ForwardReader(Stream source) : DecoderStream
{
    // More than the longest local header (131,100 bytes).
    private const int BufferBytes = 1 << 18;

    private byte[] _buffer = ArrayPool<byte>.Shared.Rent(BufferBytes);
    private int _start;
    private int _end;

    /// <summary>Returns at least the requested number of bytes, unless the stream ends before.</summary>
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
            var read = source.Read(_buffer, _end, _buffer.Length - _end);
            if (read == 0)
                break;
            _end += read;
        }
        return new ArraySegment<byte>(_buffer, _start, _end - _start);
    }

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
            return source.Read(buffer);
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

/// <summary>Inflates data that only itself says where it ends, and stops exactly there, which DeflateStream can't.</summary>
/// <param name="reader">Not disposed; at the end it stands right after the data.</param>
internal sealed class ForwardInflater(ForwardReader reader, IdleGauge gauge) : DecoderStream
{
    private const int BufferBytes = 1 << 16;

    private readonly Inflater _inflater = new(noHeader: true);
    private byte[] _output = ArrayPool<byte>.Shared.Rent(BufferBytes);
    private int _given;
    private bool _finished;

    public long CompressedBytes { get; private set; }

    public void Reset()
    {
        _inflater.Reset();
        _given = 0;
        _finished = false;
        CompressedBytes = 0;
    }

    public override int Read(Span<byte> buffer)
    {
        if (buffer.IsEmpty || _finished)
            return 0;
        while (true)
        {
            int read;
            try
            {
                read = _inflater.Inflate(_output, 0, Math.Min(buffer.Length, BufferBytes));
            }
            catch (Exception e) when (
                e is SharpZipBaseException or IndexOutOfRangeException or ArgumentException or InvalidOperationException)
            {
                throw new DamagedDataException($"its deflate data is damaged after {_inflater.TotalOut:N0} bytes", e);
            }
            if (read > 0)
            {
                _output.AsSpan(0, read).CopyTo(buffer);
                return read;
            }
            if (_inflater.IsFinished)
            {
                _finished = true;
                CompressedBytes = _inflater.TotalIn;
                // RemainingInput refers to the latest input only: the inflater requests more when its input doesn't suffice for a step.
                Take(_given - _inflater.RemainingInput);
                return 0;
            }
            if (!_inflater.IsNeedingInput)
                throw new DamagedDataException($"its deflate data is damaged after {_inflater.TotalOut:N0} bytes");
            Take(_given);
            _given = 0;
            var input = reader.Peek(1);
            if (input.Count == 0)
                throw new DamagedDataException($"cut off: its deflate data ends after {_inflater.TotalOut:N0} bytes");
            _inflater.SetInput(input.Array!, input.Offset, input.Count);
            _given = input.Count;
        }
    }

    private void Take(int bytes)
    {
        reader.Take(bytes);
        gauge.CountInput(bytes);
    }

    protected override void Dispose(bool disposing)
    {
        if (disposing && _output.Length > 0)
        {
            ArrayPool<byte>.Shared.Return(_output);
            _output = [];
        }
        base.Dispose(disposing);
    }
}
