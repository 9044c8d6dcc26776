using System.Buffers;

namespace HibpIngest.AccountLog;

/// <summary>An array of the pool that is taken anew where it gets too short; what was in it is not kept.</summary>
internal struct PooledArray<T> : IDisposable
    where T : struct
{
    private T[]? _array;

    /// <summary>An array with at least so many elements, whatever they are.</summary>
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
