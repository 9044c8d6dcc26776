using Microsoft.Win32.SafeHandles;

namespace HibpIngest.Journal.Files;

internal sealed class FilePart(string path, long start, long length) : ForwardStream
{
    private const string Operation = "reading the journal";

    // The file may be deleted during the read and stays readable.
    private readonly SafeFileHandle _file =
        File.OpenHandle(path, FileMode.Open, FileAccess.Read, FileShare.Read | FileShare.Delete, FileOptions.SequentialScan);

    private readonly long _end = start + length;
    private long _next = start;

    public override int Read(byte[] buffer, int offset, int count)
    {
        try
        {
            var read = RandomAccess.Read(_file, buffer.AsSpan(offset, LimitToPart(count)), _next);
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
            var read = await RandomAccess.ReadAsync(_file, buffer[..LimitToPart(buffer.Length)], _next, cancellationToken);
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

    private int LimitToPart(int count) => (int)Math.Min(count, _end - _next);
}
