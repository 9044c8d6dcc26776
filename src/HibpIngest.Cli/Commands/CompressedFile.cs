using System.IO.Compression;

namespace HibpIngest.Cli.Commands;

/// <summary>
/// A file as gzip, compressed while it is read: the bytes are the same each time, so that an interrupted upload can resume, and nothing is
/// written to disk.
/// </summary>
internal sealed class CompressedFile : ForwardStream
{
    private const int PieceBytes = 1 << 17;

    private readonly Stream _file;
    private readonly IProgress<long>? _progress;
    private readonly MemoryStream _compressed = new();
    private readonly GZipStream _gzip;
    private readonly byte[] _piece = new byte[PieceBytes];
    private long _read;
    private bool _ended;

    /// <param name="progress">Receives the uncompressed bytes read.</param>
    public CompressedFile(Stream file, IProgress<long>? progress)
    {
        (_file, _progress) = (file, progress);
        _gzip = new GZipStream(_compressed, CompressionLevel.Optimal, leaveOpen: true);
    }

    public override async ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
    {
        while (_compressed.Position == _compressed.Length && !_ended)
        {
            _compressed.SetLength(0);
            var read = await _file.ReadAsync(_piece, cancellationToken);
            _progress?.Report(_read += read);
            if (read > 0)
                _gzip.Write(_piece, 0, read);
            else
                await _gzip.DisposeAsync();
            _ended = read == 0;
            _compressed.Position = 0;
        }
        return _compressed.Read(buffer.Span);
    }

    public override Task<int> ReadAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        ReadAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();

    public override int Read(byte[] buffer, int offset, int count) => throw new NotSupportedException("only ReadAsync");

    protected override void Dispose(bool disposing)
    {
        if (disposing)
        {
            _gzip.Dispose();
            _file.Dispose();
        }
        base.Dispose(disposing);
    }
}
