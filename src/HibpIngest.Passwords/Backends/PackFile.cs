using System.Buffers.Binary;
using System.IO.Hashing;
using HibpIngest.Errors;

namespace HibpIngest.Passwords;

/// <summary>A pack that is being made: a file first, so that it goes up as a whole and needs no memory. It is gone when disposed.</summary>
internal sealed class PackFile : IAsyncDisposable
{
    private const int EntryBytes = 8;

    private readonly FileStream _file;
    private readonly byte[] _entries = new byte[PasswordNames.RangesOfGroup * EntryBytes];
    private int _next;

    public PackFile(string path, HashMode mode, int group)
    {
        _file = new FileStream(
            path, FileMode.Create, FileAccess.ReadWrite, FileShare.Delete, bufferSize: 1 << 16, FileOptions.Asynchronous);
        // At once, so that a process that is killed leaves nothing: what is open stays until it is closed.
        File.Delete(path);
        _file.Write(PackIndex.PackHeader(mode, group));
    }

    /// <summary>What it holds; from its beginning once it is complete.</summary>
    public Stream Content => _file;

    /// <summary>What the index has of a pack without a member, which is not written: nobody would read of it.</summary>
    public static PackRecord OfNothing()
    {
        var entries = new byte[PasswordNames.RangesOfGroup * EntryBytes];
        for (var at = 0; at < entries.Length; at += EntryBytes)
            BinaryPrimitives.WriteUInt32LittleEndian(entries.AsSpan(at), PackIndex.PackHeaderBytes);
        return new PackRecord(PackIndex.PackHeaderBytes, 0, PackRecord.NoETag, entries);
    }

    /// <summary>Adds a range; they come in order.</summary>
    public async ValueTask AddAsync(int prefix, byte[] gzip, CancellationToken cancellationToken)
    {
        Place(prefix % PasswordNames.RangesOfGroup);
        BinaryPrimitives.WriteUInt32LittleEndian(_entries.AsSpan(((_next - 1) * EntryBytes) + 4), Crc32.HashToUInt32(gzip));
        await _file.WriteAsync(gzip, cancellationToken);
    }

    /// <summary>What is known of it, as long as it has no version.</summary>
    public async Task<PackRecord> CompleteAsync(long rows, CancellationToken cancellationToken)
    {
        Place(PasswordNames.RangesOfGroup - 1);
        await _file.FlushAsync(cancellationToken);
        var length = _file.Position;
        _file.Position = 0;
        return new PackRecord(length, rows, PackRecord.NoETag, _entries);
    }

    public ValueTask DisposeAsync() => _file.DisposeAsync();

    /// <summary>All ranges up to this one begin here: those in between are empty.</summary>
    private void Place(int upTo)
    {
        if (_file.Position > uint.MaxValue)
            throw new BadInputException(
                "a pack would be larger than 4 GB: these are not passwords, or many times as many as there are");
        while (_next <= upTo)
            BinaryPrimitives.WriteUInt32LittleEndian(_entries.AsSpan(_next++ * EntryBytes), (uint)_file.Position);
    }
}
