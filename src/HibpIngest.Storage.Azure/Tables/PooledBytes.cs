using System.Buffers;

namespace HibpIngest.Storage.Azure.Tables;

internal sealed class PooledBytes(int capacity) : IDisposable
{
    private byte[] _bytes = ArrayPool<byte>.Shared.Rent(capacity);

    public int Length { get; private set; }

    public ReadOnlyMemory<byte> Written => _bytes.AsMemory(0, Length);

    public void Append(ReadOnlySpan<byte> bytes)
    {
        bytes.CopyTo(GetSpan(bytes.Length));
        Length += bytes.Length;
    }

    public void AppendOwn(Range range)
    {
        var (offset, length) = range.GetOffsetAndLength(Length);
        Ensure(length);
        _bytes.AsSpan(offset, length).CopyTo(_bytes.AsSpan(Length));
        Length += length;
    }

    public void Advance(int count) => Length += count;

    /// <summary>Returns room for at least this many bytes, to be followed by <see cref="Advance"/>.</summary>
    public Span<byte> GetSpan(int length)
    {
        Ensure(length);
        return _bytes.AsSpan(Length);
    }

    /// <summary>Leaves the buffer to the garbage collector: a connection may still read it.</summary>
    public void Abandon()
    {
        _bytes = [];
        Length = 0;
    }

    public void Dispose()
    {
        if (_bytes.Length > 0)
            ArrayPool<byte>.Shared.Return(_bytes);
        Abandon();
    }

    private void Ensure(int more)
    {
        if (_bytes.Length - Length >= more)
            return;
        var larger = ArrayPool<byte>.Shared.Rent(Math.Max(_bytes.Length * 2, Length + more));
        _bytes.AsSpan(0, Length).CopyTo(larger);
        ArrayPool<byte>.Shared.Return(_bytes);
        _bytes = larger;
    }
}
