using System.Buffers;

namespace HibpIngest.Journal.Segments;

/// <summary>A pooled array that is replaced by a longer one when needed, without keeping its content.</summary>
internal struct PooledArray<T> : IDisposable
    where T : struct
{
    private T[]? _array;

    /// <summary>Returns an array of at least that length, with undefined content.</summary>
    public T[] Get(int length)
    {
        if (_array is null || _array.Length < length)
        {
            Dispose();
            _array = ArrayPool<T>.Shared.Rent(length);
        }
        return _array;
    }

    public void Dispose()
    {
        if (_array is not null)
            ArrayPool<T>.Shared.Return(_array);
        _array = null;
    }
}
