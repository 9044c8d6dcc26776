using System.Buffers;
using Azure;
using Azure.Storage.Blobs;
using Azure.Storage.Blobs.Models;
using HibpIngest.Breaches;
using HibpIngest.Errors;

namespace HibpIngest.AzureStorage.Blobs;

/// <summary>
/// One version of a blob as a seekable stream for one reader. It is fetched in ranges, each guarded by
/// If-Match. A jump (a zip's directory at the end, then its entries) fetches only what is asked for there; the
/// further the reader goes forward from it, the longer the ranges become, and those that come next are fetched
/// behind its back. So what is fetched stays near to what is read, in whatever order that is. Disposing it, at
/// any time and from any thread, ends a read that is under way.
/// </summary>
internal sealed class BlobVersionStream(BlobClient blob, BlobVersion version, long length) : Stream
{
    /// <summary>The longest range: long enough that inflating one hides the round trip of the next.</summary>
    internal const int RangeBytes = 4 * 1024 * 1024;

    /// <summary>
    /// Ranges begin and end at its multiples: neighbours share no byte, and what lies near a small entry is
    /// there too.
    /// </summary>
    internal const int GrainBytes = 16 * 1024;

    /// <summary>Fetched ahead of the reader's range at most.</summary>
    private const int AheadBytes = 2 * RangeBytes;

    /// <summary>Kept at most: the range being read, those ahead, and one more, where a reader goes back and forth.</summary>
    private const int KeptBytes = AheadBytes + (2 * RangeBytes);

    /// <summary>So many bytes read without a jump make a reader that goes forward.</summary>
    private const int ForwardBytes = 64 * 1024;

    /// <summary>
    /// Nearer than this is no jump: a reader passes over names and gaps, and comes back from a header to its
    /// data.
    /// </summary>
    private const int NearBytes = 64 * 1024;

    private readonly CancellationTokenSource _closed = new();
    private readonly Lock _gate = new();

    /// <summary>Ranges here or on their way, the one used last at the end.</summary>
    private readonly List<Fetched> _ranges = [];

    private long _keptBytes;
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

            // A reader that waits for one of them is woken by this; one that copies from it has the gate, and none begins again.
            _closed.Cancel();
            dropped.ForEach(GiveBack);
            _closed.Dispose();
        }

        base.Dispose(disposing);
    }

    /// <summary>
    /// The range that the position lies in, fetched if need be, with those ahead where the reader goes forward.
    /// </summary>
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
                // No further than it has come already: what it leaves unread is no more than what it has read.
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
            // Given back by now, and perhaps somebody else's.
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
            // What failed is tried again when the reader comes back for it.
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

        // What is asked for, or as much as has been read since the last jump; not what is there already.
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
        while (_ranges.Count > 0 && _keptBytes + count > KeptBytes)
            Drop(0);
        var fetched = new Fetched(start, count, FetchAsync(start, count, _closed.Token));
        _ranges.Add(fetched);
        _keptBytes += count;
        return fetched;
    }

    private void Drop(int index)
    {
        var range = _ranges[index];
        _ranges.RemoveAt(index);
        _keptBytes -= range.Bytes;
        GiveBack(range);
    }

    private static void GiveBack(Fetched range) => _ = range.Content.ContinueWith(
        static done =>
        {
            if (done.IsCompletedSuccessfully)
                ArrayPool<byte>.Shared.Return(done.Result);
            else
                _ = done.Exception;
        },
        CancellationToken.None,
        TaskContinuationOptions.ExecuteSynchronously,
        TaskScheduler.Default);

    private Task<byte[]> FetchAsync(long offset, int count, CancellationToken cancellationToken) =>
        BreachBlobs.Call($"reading of blob '{version.Name}'", async () =>
    {
        var options = new BlobDownloadOptions
        {
            Range = new HttpRange(offset, count),
            Conditions = new BlobRequestConditions { IfMatch = new ETag(version.ETag) },
        };
        try
        {
            using BlobDownloadStreamingResult download = await blob.DownloadStreamingAsync(options, cancellationToken);
            // Not pooled again when reading fails: the connection may still write to it.
            var buffer = ArrayPool<byte>.Shared.Rent(count);
            await download.Content.ReadExactlyAsync(buffer.AsMemory(0, count), cancellationToken);
            return buffer;
        }
        catch (RequestFailedException e) when (e.Status is 412 or 416 || BreachBlobs.IsMissingBlob(e))
        {
            throw new BlobSupersededException(version.Name);
        }
    }, cancellationToken);

    /// <summary>A range that is here or on its way.</summary>
    private sealed class Fetched(long start, int bytes, Task<byte[]> content)
    {
        public long Start => start;

        public int Bytes => bytes;

        public long End => start + bytes;

        public Task<byte[]> Content => content;
    }
}
