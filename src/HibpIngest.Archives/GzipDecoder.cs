using System.Buffers.Binary;
using System.IO.Hashing;

namespace HibpIngest.Archives;

/// <summary>
/// Decodes all members of a gzip file (RFC 1952), and checks each, unlike GZipStream. Zero bytes may follow (tape padding); anything else
/// is refused, although gunzip only warns: it may be a member with a damaged header.
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
        var header = Peek(FixedHeaderBytes);
        if (header is not [0x1F, 0x8B, var method, var flags, ..])
            throw new DamagedDataException("its gzip header is damaged");
        if (method != 8)
            throw new DamagedDataException($"its gzip header names the unknown method {method}");
        if ((flags & ReservedFlags) != 0)
            throw new DamagedDataException("its gzip header has flags that are not defined");
        Take(FixedHeaderBytes);
        if ((flags & HasExtra) != 0)
        {
            int extra = BinaryPrimitives.ReadUInt16LittleEndian(Peek(2));
            Take(2);
            Peek(extra);
            Take(extra);
        }
        if ((flags & HasName) != 0)
            SkipText();
        if ((flags & HasComment) != 0)
            SkipText();
        if ((flags & HasHeaderCrc) != 0)
        {
            Peek(2);
            Take(2);
        }
        _inflater.Reset();
        _crc.Reset();
        _size = 0;
    }

    private void ReadTrailer()
    {
        var trailer = Peek(TrailerBytes);
        var crc = BinaryPrimitives.ReadUInt32LittleEndian(trailer);
        var size = BinaryPrimitives.ReadUInt32LittleEndian(trailer[4..]);
        var found = _crc.GetCurrentHashAsUInt32();
        if (crc != found)
            throw new DamagedDataException($"its gzip CRC-32 should be {crc:X8} and is {found:X8}");
        if (size != _size)
            throw new DamagedDataException("its gzip size does not match its data");
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
                    "after its last gzip member comes something that is not gzip; cut that off, or gunzip it before zipping");
            Take(zeros);
        }
    }

    private void SkipText()
    {
        while (true)
        {
            var text = Peek(1);
            var end = text.IndexOf((byte)0);
            Take(end < 0 ? text.Length : end + 1);
            if (end >= 0)
                return;
        }
    }

    private void Take(int bytes)
    {
        _reader.Take(bytes);
        _gauge.In(bytes);
    }

    private ReadOnlySpan<byte> Peek(int bytes)
    {
        ReadOnlySpan<byte> peeked = _reader.Peek(bytes);
        return peeked.Length >= bytes ? peeked : throw new DamagedDataException("cut off within a gzip header or trailer");
    }
}
