using System.Buffers;

namespace HibpIngest.Storage.Azure.Blobs;

/// <summary>
/// One version of a blob as a seekable stream for one reader, fetched in ranges, each under If-Match. After a jump (a zip's directory at
/// the end, then its entries) only the requested bytes are fetched; the further the reader goes forward, the longer the ranges become, and
/// the next ones are prefetched. So the bytes fetched stay close to the bytes read, in any order. Dispose may be called at any time and
/// from any thread; it ends a read in progress.
/// </summary>
internal sealed class BlobVersionStream(BlobClient blob, BlobVersion version, long length) : Stream
{
    /// <summary>The longest range: inflating one takes longer than the round trip of the next.</summary>
    internal const int RangeBytes = 4 * 1024 * 1024;

    /// <summary>Alignment of ranges, so that neighbours don't overlap and bytes near a small entry are included.</summary>
    internal const int GrainBytes = 16 * 1024;

    private const int AheadBytes = 2 * RangeBytes;

    /// <summary>Maximum in memory: the range being read, those prefetched, and one more for a reader that goes back and forth.</summary>
    private const int MaxCachedBytes = AheadBytes + (2 * RangeBytes);

    /// <summary>Bytes read without a jump after which ranges are prefetched.</summary>
    private const int ForwardBytes = 64 * 1024;

    /// <summary>A shorter distance is no jump: readers skip names and gaps, and go back from a header to its data.</summary>
    private const int NearBytes = 64 * 1024;

    private readonly CancellationTokenSource _closed = new();
    private readonly Lock _gate = new();

    /// <summary>Ranges fetched or being fetched, the most recently used last.</summary>
    private readonly List<Fetched> _ranges = [];

    private long _cachedBytes;
    private long _position;
    private long _expected;
    private long _forward;
    private Fetched? _aheadOf;
    private bool _disposed;

    public override bool CanRead => !_disposed;

    public override bool CanSeek => !_disposed;

    public override bool CanWrite => false;

    public override long Length => length;

    public override long Position
    {
        get => _position;
        set
        {
            ArgumentOutOfRangeException.ThrowIfNegative(value);
            _position = value;
        }
    }

    public override int Read(byte[] buffer, int offset, int count) => Read(buffer.AsSpan(offset, count));

    public override int Read(Span<byte> buffer)
    {
        if (buffer.IsEmpty || _position >= length)
            return 0;
        var range = Locate(buffer.Length);
        return Take(range, range.Content.GetAwaiter().GetResult(), buffer);
    }

    public override Task<int> ReadAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        ReadAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();

    public override async ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
    {
        if (buffer.IsEmpty || _position >= length)
            return 0;
        var range = Locate(buffer.Length);
        return Take(range, await range.Content.WaitAsync(cancellationToken), buffer.Span);
    }

    public override long Seek(long offset, SeekOrigin origin)
    {
        Position = origin switch
        {
            SeekOrigin.Begin => offset,
            SeekOrigin.Current => _position + offset,
            _ => length + offset,
        };
        return _position;
    }

    public override void Flush()
    {
    }

    public override void SetLength(long value) => throw new NotSupportedException();

    public override void Write(byte[] buffer, int offset, int count) => throw new NotSupportedException();

    protected override void Dispose(bool disposing)
    {
        if (disposing)
        {
            List<Fetched> dropped;
            lock (_gate)
            {
                if (_disposed)
                    return;
                _disposed = true;
                dropped = [.. _ranges];
                _ranges.Clear();
            }
            // Wakes a reader that waits for a range. One that is copying holds the lock, and no new one starts.
            _closed.Cancel();
            dropped.ForEach(ReturnBuffer);
            _closed.Dispose();
        }
        base.Dispose(disposing);
    }

    private Fetched Locate(int wanted)
    {
        lock (_gate)
        {
            ObjectDisposedException.ThrowIf(_disposed, this);
            if (Math.Abs(_position - _expected) > NearBytes)
                _forward = 0;
            var range = Get(_position, wanted);
            if (_forward >= ForwardBytes && _aheadOf != range)
            {
                _aheadOf = range;
                // At most as far as has been read since the jump: no more is fetched in vain than was read.
                var end = Math.Min(length, range.End + Math.Min(_forward, AheadBytes));
                for (var next = range.End; next < end;)
                    next = Get(next, (int)Math.Min(end - next, RangeBytes)).End;
            }
            return range;
        }
    }

    private int Take(Fetched range, byte[] content, Span<byte> buffer)
    {
        lock (_gate)
        {
            // After Dispose the buffer is back in the pool and may have another user.
            ObjectDisposedException.ThrowIf(_disposed, this);
            var at = (int)(_position - range.Start);
            var read = Math.Min(buffer.Length, range.Bytes - at);
            content.AsSpan(at, read).CopyTo(buffer);
            _position += read;
            _expected = _position;
            _forward += read;
            return read;
        }
    }

    private Fetched Get(long position, int wanted)
    {
        var index = _ranges.FindLastIndex(range => range.Start <= position && position < range.End);
        if (index >= 0)
        {
            var found = _ranges[index];
            // A failed range is fetched again when the reader returns to it.
            if (!found.Content.IsFaulted)
            {
                if (index != _ranges.Count - 1)
                {
                    _ranges.RemoveAt(index);
                    _ranges.Add(found);
                }
                return found;
            }
            Drop(index);
        }
        // At least the bytes requested, or as many as were read since the last jump; without those already fetched.
        var start = position - (position % GrainBytes);
        var bytes = Math.Max(position - start + wanted, _forward);
        var end = start + Math.Min((bytes + GrainBytes - 1) / GrainBytes * GrainBytes, RangeBytes);
        end = Math.Min(end, length);
        foreach (var range in _ranges)
        {
            if (range.Start > start)
                end = Math.Min(end, range.Start);
        }
        var count = (int)(end - start);
        while (_ranges.Count > 0 && _cachedBytes + count > MaxCachedBytes)
            Drop(0);
        var fetched = new Fetched(start, count, FetchAsync(start, count, _closed.Token));
        _ranges.Add(fetched);
        _cachedBytes += count;
        return fetched;
    }

    private void Drop(int index)
    {
        var range = _ranges[index];
        _ranges.RemoveAt(index);
        _cachedBytes -= range.Bytes;
        ReturnBuffer(range);
    }

    private static void ReturnBuffer(Fetched range) => _ = range.Content.ContinueWith(
        static done =>
        {
            if (done.IsCompletedSuccessfully)
                ArrayPool<byte>.Shared.Return(done.Result);
            else
                _ = done.Exception;
        },
        CancellationToken.None, TaskContinuationOptions.ExecuteSynchronously, TaskScheduler.Default);

    private async Task<byte[]> FetchAsync(long offset, int count, CancellationToken cancellationToken) =>
        await StorageCall.FindAsync($"reading blob '{version.Name}'", async () =>
        {
            var options = new BlobDownloadOptions
            {
                Range = new HttpRange(offset, count),
                Conditions = ContainerCalls.VersionIs(version.ETag),
            };
            using BlobDownloadStreamingResult download = await blob.DownloadStreamingAsync(options, cancellationToken);
            // The buffer is not returned to the pool if reading fails: the connection may still write to it.
            var buffer = ArrayPool<byte>.Shared.Rent(count);
            await download.Content.ReadExactlyAsync(buffer.AsMemory(0, count), cancellationToken);
            return buffer;
        }, e => e.Status is 412 or 416 || StorageCall.IsMissingBlob(e), cancellationToken)
        ?? throw new BlobSupersededException(version.Name);

    private sealed record Fetched(long Start, int Bytes, Task<byte[]> Content)
    {
        public long End => Start + Bytes;
    }
}
