using Microsoft.Win32.SafeHandles;

namespace HibpIngest.Journal.Files;

/// <summary>A forward-only, unbuffered stream of a part of a file.</summary>
internal sealed class FilePart(string path, long offset, long length) : ForwardStream
{
    private const string Operation = "reading of the journal";

    // The file may be deleted during the read and stays readable.
    private readonly SafeFileHandle _file =
        File.OpenHandle(path, FileMode.Open, FileAccess.Read, FileShare.Read | FileShare.Delete, FileOptions.SequentialScan);

    private readonly long _end = offset + length;
    private long _next = offset;

    public override int Read(byte[] buffer, int offset, int count)
    {
        try
        {
            var read = RandomAccess.Read(_file, buffer.AsSpan(offset, Part(count)), _next);
            _next += read;
            return read;
        }
        catch (Exception e) when (FileErrors.Is(e))
        {
            throw FileErrors.Map(e, Operation);
        }
    }

    public override Task<int> ReadAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        ReadAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();

    public override async ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
    {
        try
        {
            var read = await RandomAccess.ReadAsync(_file, buffer[..Part(buffer.Length)], _next, cancellationToken);
            _next += read;
            return read;
        }
        catch (Exception e) when (FileErrors.Is(e))
        {
            throw FileErrors.Map(e, Operation);
        }
    }

    protected override void Dispose(bool disposing)
    {
        if (disposing)
            _file.Dispose();
        base.Dispose(disposing);
    }

    private int Part(int wanted) => (int)Math.Min(wanted, _end - _next);
}
