using System.IO.Hashing;

namespace HibpIngest.Archives;

/// <summary>
/// What an entry inflates to: counted against the limits, its size and CRC-32 checked at the end, every
/// decoder's complaint turned into a <see cref="BadArchiveException"/> that names it. Exceptions of the
/// archive's own stream pass through as they are.
/// </summary>
/// <param name="meter">Counts; null where what it lies in is counted already, byte for byte.</param>
/// <param name="gauge">Told what comes out of the decoder; null for stored data, which can't but come out.</param>
/// <param name="longest">More bytes than these are a lie of the header; null where it says nothing.</param>
/// <param name="atEnd">Called once with CRC-32 and size when the decoder has ended; throws
/// <see cref="DamagedDataException"/>.</param>
/// <param name="maybePassword">A wrong password may be the reason of any damage found.</param>
internal sealed class EntryContent(
    EntryName entry, Stream decoder, InflationMeter? meter, IdleGauge? gauge, long? longest, Action<uint, long> atEnd, bool maybePassword)
    : DecoderStream
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

    /// <summary>The first bytes, up to four, without moving on; empty where the content is.</summary>
    public ReadOnlySpan<byte> PeekMagic() => Peek(MagicBytes);

    /// <summary>The first bytes, up to so many, without moving on; before anything has been read.</summary>
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

    /// <summary>Reads what is left, so that the end is checked, and what follows it in a nested archive is reached.</summary>
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
                atEnd(_crc.GetCurrentHashAsUInt32(), _length);
                _ended = true;
                return 0;
            }
            _length += read;
            if (_length > longest)
                throw new DamagedDataException($"it inflates to more than the {longest:N0} bytes its header says");
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
