using System.Buffers;

namespace HibpIngest.Journal.Merge;

/// <summary>
/// A partition's rows on disk, in groups of one load and domain. A group begins with a zero byte, the load's number in the merge (4 bytes)
/// and the domain's length and bytes. Each row is the alias's length, which is never 0, and its bytes.
/// </summary>
internal sealed class SpillFile : IDisposable
{
    private const int BufferBytes = 128 << 10;
    private const int GroupBytes = 1 + 4 + 1 + SegmentLimits.DomainBytes;
    private const int AliasBytes = 1 + SegmentLimits.AliasBytes;

    private readonly byte[] _buffer = ArrayPool<byte>.Shared.Rent(BufferBytes);
    private readonly FileStream _file;
    private int _used;

    /// <param name="path">A new file that only this user may read; deleted on dispose or when the process ends.</param>
    public SpillFile(string path)
    {
        var options = new FileStreamOptions
        {
            Mode = FileMode.CreateNew,
            Access = FileAccess.ReadWrite,
            BufferSize = 0,
            Options = FileOptions.DeleteOnClose,
        };
        if (!OperatingSystem.IsWindows())
            options.UnixCreateMode = UnixFileMode.UserRead | UnixFileMode.UserWrite;
        _file = new FileStream(path, options);
        // Unlinked at once, so that even a killed process leaves no addresses on disk. Windows deletes the file when it is closed.
        if (!OperatingSystem.IsWindows())
            File.Delete(path);
    }

    public int Rows { get; private set; }

    public long Length => _file.Length + _used;

    public void Begin(int load, ReadOnlySpan<byte> domain)
    {
        var place = Reserve(GroupBytes);
        place[0] = 0;
        BinaryPrimitives.WriteInt32LittleEndian(place[1..], load);
        place[5] = (byte)domain.Length;
        domain.CopyTo(place[6..]);
        _used += 6 + domain.Length;
    }

    public void Add(ReadOnlySpan<byte> alias)
    {
        var place = Reserve(AliasBytes);
        place[0] = (byte)alias.Length;
        alias.CopyTo(place[1..]);
        _used += 1 + alias.Length;
        Rows++;
    }

    public void Read(Span<byte> into)
    {
        Flush();
        _file.Position = 0;
        _file.ReadExactly(into[..(int)_file.Length]);
    }

    public void Dispose()
    {
        ArrayPool<byte>.Shared.Return(_buffer);
        _file.Dispose();
    }

    private Span<byte> Reserve(int max)
    {
        if (_used + max > BufferBytes)
            Flush();
        return _buffer.AsSpan(_used);
    }

    private void Flush()
    {
        _file.Write(_buffer, 0, _used);
        _used = 0;
    }
}
