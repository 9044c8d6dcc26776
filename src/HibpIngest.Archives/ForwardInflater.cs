using System.Buffers;
using ICSharpCode.SharpZipLib;
using ICSharpCode.SharpZipLib.Zip.Compression;

namespace HibpIngest.Archives;

/// <summary>
/// Inflates data that only itself says where it ends, and stops exactly there. DeflateStream reads past the end without saying how far, so
/// this uses SharpZipLib's inflater, which does.
/// </summary>
internal sealed class ForwardInflater : DecoderStream
{
    private const int BufferBytes = 1 << 16;

    private readonly ForwardReader _reader;
    private readonly IdleGauge _gauge;
    private readonly Inflater _inflater = new(noHeader: true);
    private byte[] _output = ArrayPool<byte>.Shared.Rent(BufferBytes);
    private int _given;
    private bool _finished;

    /// <param name="reader">Not disposed; at the end it stands right after the data.</param>
    public ForwardInflater(ForwardReader reader, IdleGauge gauge)
    {
        _reader = reader;
        _gauge = gauge;
    }

    /// <summary>Size of the deflate data; set at the end.</summary>
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
                // RemainingInput refers to the latest input only: the inflater asks for more when its input doesn't suffice for a step.
                Take(_given - _inflater.RemainingInput);
                return 0;
            }
            if (!_inflater.IsNeedingInput)
                throw new DamagedDataException($"its deflate data is damaged after {_inflater.TotalOut:N0} bytes");
            Take(_given);
            _given = 0;
            var input = _reader.Peek(1);
            if (input.Count == 0)
                throw new DamagedDataException($"cut off: its deflate data breaks off after {_inflater.TotalOut:N0} bytes");
            _inflater.SetInput(input.Array!, input.Offset, input.Count);
            _given = input.Count;
        }
    }

    private void Take(int bytes)
    {
        _reader.Take(bytes);
        _gauge.In(bytes);
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
