using System.Buffers;
using Azure;
using Azure.Storage.Blobs;
using Azure.Storage.Blobs.Models;
using HibpIngest.Breaches;
using HibpIngest.Errors;

namespace HibpIngest.AzureStorage.Blobs;

/// <summary>
/// One version of a blob as a seekable stream for one reader. It is fetched in aligned ranges, each guarded by If-Match. While the reader goes forward, the next
/// ranges are fetched behind its back; a jump (a zip's directory at the end, then its entries) fetches only where it lands.
/// </summary>
internal sealed class BlobVersionStream(BlobClient blob, BlobVersion version, long length) : Stream
{
    /// <summary>Long enough that inflating one hides the round trip of the next.</summary>
    internal const int RangeBytes = 4 * 1024 * 1024;

    /// <summary>Ranges fetched ahead of the reader.</summary>
    private const int RangesAhead = 2;

    /// <summary>The one being read, those ahead, and one more, where a reader goes back and forth.</summary>
    private const int RangesKept = RangesAhead + 2;

    /// <summary>So many bytes read without a jump make a reader that goes forward.</summary>
    private const int ForwardBytes = 64 * 1024;

    private readonly CancellationTokenSource _closed = new();

    /// <summary>Ranges here or on their way, the one used last at the end.</summary>
    private readonly List<(long Number, Task<byte[]> Content)> _ranges = [];

    private long _position;
    private long _expected;
    private long _forward;
    private long _aheadOf = -1;
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
        var (content, at, most) = Locate(buffer.Length);
        var range = content.GetAwaiter().GetResult();
        range.AsSpan(at, most).CopyTo(buffer);
        Advance(most);
        return most;
    }

    public override Task<int> ReadAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken) => ReadAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();

    public override async ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
    {
        if (buffer.IsEmpty || _position >= length)
            return 0;
        var (content, at, most) = Locate(buffer.Length);
        var range = await content.WaitAsync(cancellationToken);
        range.AsMemory(at, most).CopyTo(buffer);
        Advance(most);
        return most;
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
        if (disposing && !_disposed)
        {
            _disposed = true;
            _closed.Cancel();
            while (_ranges.Count > 0)
                Drop(0);
            _closed.Dispose();
        }

        base.Dispose(disposing);
    }

    /// <summary>The range that the position lies in, where in it, and how much of it may be taken.</summary>
    private (Task<byte[]> Content, int At, int Most) Locate(int wanted)
    {
        ObjectDisposedException.ThrowIf(_disposed, this);
        if (_position != _expected)
            _forward = 0;
        var number = _position / RangeBytes;
        var content = Get(number);
        if (_forward >= ForwardBytes && _aheadOf != number)
        {
            _aheadOf = number;
            for (var ahead = 1; ahead <= RangesAhead && (number + ahead) * RangeBytes < length; ahead++)
                _ = Get(number + ahead);
        }

        var at = (int)(_position % RangeBytes);
        var inRange = (int)Math.Min(RangeBytes, length - (number * RangeBytes));
        return (content, at, Math.Min(wanted, inRange - at));
    }

    private void Advance(int read)
    {
        _position += read;
        _expected = _position;
        _forward += read;
    }

    private Task<byte[]> Get(long number)
    {
        var index = _ranges.Count - 1;
        while (index >= 0 && _ranges[index].Number != number)
            index--;
        if (index >= 0)
        {
            var found = _ranges[index];
            if (index != _ranges.Count - 1)
            {
                _ranges.RemoveAt(index);
                _ranges.Add(found);
            }

            // What failed is tried again when the reader comes back for it.
            if (!found.Content.IsFaulted)
                return found.Content;
            Drop(_ranges.Count - 1);
        }

        if (_ranges.Count == RangesKept)
            Drop(0);
        var content = FetchAsync(number * RangeBytes, (int)Math.Min(RangeBytes, length - (number * RangeBytes)), _closed.Token);
        _ranges.Add((number, content));
        return content;
    }

    private void Drop(int index)
    {
        var content = _ranges[index].Content;
        _ranges.RemoveAt(index);
        _ = content.ContinueWith(
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
    }

    private Task<byte[]> FetchAsync(long offset, int count, CancellationToken cancellationToken) => BreachBlobs.Call($"reading of blob '{version.Name}'", async () =>
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
            var buffer = ArrayPool<byte>.Shared.Rent(RangeBytes);
            await download.Content.ReadExactlyAsync(buffer.AsMemory(0, count), cancellationToken);
            return buffer;
        }
        catch (RequestFailedException e) when (e.Status is 412 or 416 || BreachBlobs.IsMissingBlob(e))
        {
            throw new BlobSupersededException(version.Name);
        }
    }, cancellationToken);
}
