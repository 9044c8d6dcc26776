using System.IO.Hashing;

namespace HibpIngest.Archives;

/// <summary>
/// Decodes all members of a gzip file (RFC 1952), and checks each. Zero bytes may follow (tape padding); anything else is refused, although
/// gunzip only warns and GZipStream ignores it: it may be a member with a damaged header.
/// </summary>
internal sealed class GzipDecoder : DecoderStream
{
    private const int FixedHeaderBytes = 10;
    private const int TrailerBytes = 8;

    private const byte HasHeaderCrc = 2;
    private const byte HasExtra = 4;
    private const byte HasName = 8;
    private const byte HasComment = 16;
    private const byte ReservedFlags = 0xE0;

    private readonly ForwardReader _reader;
    private readonly IdleGauge _gauge;
    private readonly ForwardInflater _inflater;
    private readonly Crc32 _crc = new();
    private uint _size;
    private bool _inMember;
    private bool _ended;

    /// <param name="source">Not disposed.</param>
    public GzipDecoder(Stream source, IdleGauge gauge)
    {
        _reader = new ForwardReader(source);
        _gauge = gauge;
        _inflater = new ForwardInflater(_reader, gauge);
    }

    public override int Read(Span<byte> buffer)
    {
        if (buffer.IsEmpty)
            return 0;
        while (!_ended)
        {
            if (!_inMember)
            {
                ReadHeader();
                _inMember = true;
            }
            var read = _inflater.Read(buffer);
            if (read > 0)
            {
                _crc.Append(buffer[..read]);
                _size += (uint)read;
                return read;
            }
            ReadTrailer();
            _inMember = false;
            _ended = !HasNextMember();
        }
        return 0;
    }

    protected override void Dispose(bool disposing)
    {
        if (disposing)
        {
            _inflater.Dispose();
            _reader.Dispose();
        }
        base.Dispose(disposing);
    }

    private void ReadHeader()
    {
        var header = PeekAtLeast(FixedHeaderBytes);
        if (header is not [0x1F, 0x8B, var method, var flags, ..])
            throw new DamagedDataException("its gzip header is damaged");
        if (method != 8)
            throw new DamagedDataException($"its gzip header has compression method {method}; only 8 (deflate) is supported");
        if ((flags & ReservedFlags) != 0)
            throw new DamagedDataException("its gzip header has flags that are not defined");
        Take(FixedHeaderBytes);
        if ((flags & HasExtra) != 0)
        {
            int extra = BinaryPrimitives.ReadUInt16LittleEndian(PeekAtLeast(2));
            Take(2);
            Skip(extra);
        }
        if ((flags & HasName) != 0)
            SkipText();
        if ((flags & HasComment) != 0)
            SkipText();
        if ((flags & HasHeaderCrc) != 0)
            Skip(2);
        _inflater.Reset();
        _crc.Reset();
        _size = 0;
    }

    private void ReadTrailer()
    {
        var trailer = PeekAtLeast(TrailerBytes);
        var crc = BinaryPrimitives.ReadUInt32LittleEndian(trailer);
        var size = BinaryPrimitives.ReadUInt32LittleEndian(trailer[4..]);
        var found = _crc.GetCurrentHashAsUInt32();
        if (crc != found)
            throw new DamagedDataException($"its gzip CRC-32 should be {crc:X8} and is {found:X8}");
        if (size != _size)
            throw new DamagedDataException($"its gzip size should be {size} and is {_size} (modulo 2^32)");
        Take(TrailerBytes);
    }

    private bool HasNextMember()
    {
        while (true)
        {
            ReadOnlySpan<byte> rest = _reader.Peek(2);
            if (rest.IsEmpty)
                return false;
            if (rest is [0x1F, 0x8B, ..])
                return true;
            var zeros = rest.IndexOfAnyExcept((byte)0);
            if (zeros < 0)
                zeros = rest.Length;
            else if (zeros == 0)
                throw new DamagedDataException(
                    "its gzip data is followed by other data: remove the trailing data, or decompress the file before you zip it");
            Take(zeros);
        }
    }

    private void SkipText()
    {
        while (true)
        {
            var text = PeekAtLeast(1);
            var end = text.IndexOf((byte)0);
            Take(end < 0 ? text.Length : end + 1);
            if (end >= 0)
                return;
        }
    }

    private void Skip(int bytes)
    {
        PeekAtLeast(bytes);
        Take(bytes);
    }

    private void Take(int bytes)
    {
        _reader.Take(bytes);
        _gauge.CountInput(bytes);
    }

    private ReadOnlySpan<byte> PeekAtLeast(int minBytes)
    {
        ReadOnlySpan<byte> peeked = _reader.Peek(minBytes);
        return peeked.Length >= minBytes ? peeked : throw new DamagedDataException("cut off within a gzip header or trailer");
    }
}
