using System.IO.Hashing;

namespace HibpIngest.Archives;

/// <summary>
/// An entry's decompressed content: counted against the limits, with size and CRC-32 checked at the end. Decoder errors become
/// <see cref="BadArchiveException"/>s that name the entry; exceptions of the archive's own stream pass through.
/// </summary>
/// <param name="meter">Null if the enclosing content is counted byte for byte.</param>
/// <param name="gauge">Null for stored data, which can't be idle.</param>
/// <param name="maxBytes">The size in the header. Null if unknown.</param>
/// <param name="atEnd">Called once with CRC-32 and size; throws <see cref="DamagedDataException"/>.</param>
/// <param name="maybePassword">True if a wrong password may be the reason of any damage found.</param>
internal sealed class EntryContent(
    EntryName entry, Stream decoder, InflationMeter? meter, IdleGauge? gauge = null, long? maxBytes = null,
    Action<uint, long>? atEnd = null, bool maybePassword = false) : DecoderStream
{
    private const int MagicBytes = 4;

    private readonly Crc32 _crc = new();
    private byte[] _head = new byte[MagicBytes];
    private int _headCount;
    private int _headRead;
    private long _length;
    private bool _ended;
    private bool _disposed;

    public EntryName Entry => entry;

    public static EntryContent Gunzip(Stream source, EntryName entry, InflationMeter meter)
    {
        var gauge = new IdleGauge(meter, entry);
        return new EntryContent(entry, new GzipDecoder(source, gauge), meter, gauge);
    }

    public ReadOnlySpan<byte> PeekMagic() => Peek(MagicBytes);

    /// <summary>Returns fewer bytes if the content is shorter. Must be called before the first read.</summary>
    public ReadOnlySpan<byte> Peek(int bytes)
    {
        if (_head.Length < bytes)
            Array.Resize(ref _head, bytes);
        while (_headCount < bytes && ReadOn(_head.AsSpan(_headCount)) is > 0 and var read)
            _headCount += read;
        return _head.AsSpan(0, Math.Min(_headCount, bytes));
    }

    public override int Read(Span<byte> buffer)
    {
        ObjectDisposedException.ThrowIf(_disposed, this);
        if (_headRead < _headCount)
        {
            var read = Math.Min(buffer.Length, _headCount - _headRead);
            _head.AsSpan(_headRead, read).CopyTo(buffer);
            _headRead += read;
            return read;
        }
        return ReadOn(buffer);
    }

    /// <summary>Reads the rest: the end is checked, and a nested archive's reader gets past it.</summary>
    public void Drain(Span<byte> scratch)
    {
        while (Read(scratch) > 0)
        {
        }
    }

    protected override void Dispose(bool disposing)
    {
        if (disposing && !_disposed)
        {
            _disposed = true;
            decoder.Dispose();
        }
        base.Dispose(disposing);
    }

    private int ReadOn(Span<byte> buffer)
    {
        if (_ended || buffer.IsEmpty)
            return 0;
        try
        {
            var read = decoder.Read(buffer);
            if (read == 0)
            {
                atEnd?.Invoke(_crc.GetCurrentHashAsUInt32(), _length);
                _ended = true;
                return 0;
            }
            _length += read;
            if (_length > maxBytes)
                throw new DamagedDataException($"it inflates to more than the {maxBytes:N0} bytes its header says");
            _crc.Append(buffer[..read]);
            meter?.CountBytes(read, entry);
            gauge?.Out(read);
            return read;
        }
        catch (DamagedDataException e)
        {
            throw Bad(e.Message, e);
        }
        catch (InvalidDataException e)
        {
            throw Bad($"its deflate data is damaged after {_length:N0} bytes", e);
        }
    }

    private BadArchiveException Bad(string reason, Exception inner) => new(
        $"{entry}: {reason}; the "
        + (maybePassword ? "password is wrong or the archive is damaged" : "archive is damaged or incomplete: drop an intact copy"), inner);
}
