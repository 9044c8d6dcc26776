using System.Buffers.Binary;
using System.IO.Hashing;

namespace HibpIngest.Passwords.Releases;

/// <summary>
/// A pack that is being built. It is a temporary file first, so that it is uploaded as a whole and needs no memory; disposing it deletes
/// the file.
/// </summary>
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
        // Deleted right away, so that a killed process leaves nothing: an open file stays until it is closed.
        File.Delete(path);
        _file.Write(PackIndex.PackHeader(mode, group));
    }

    /// <summary>The pack's bytes, positioned at the beginning once it is complete.</summary>
    public Stream Content => _file;

    /// <summary>Returns the record of a pack without ranges. Such a pack is not written, as nothing would be read from it.</summary>
    public static PackRecord OfNothing()
    {
        var entries = new byte[PasswordNames.RangesOfGroup * EntryBytes];
        for (var at = 0; at < entries.Length; at += EntryBytes)
            BinaryPrimitives.WriteUInt32LittleEndian(entries.AsSpan(at), PackIndex.PackHeaderBytes);
        return new PackRecord(PackIndex.PackHeaderBytes, 0, PackRecord.NoETag, entries);
    }

    /// <summary>Adds a range; ranges come in order.</summary>
    public async ValueTask AddAsync(int prefix, byte[] gzip, CancellationToken cancellationToken)
    {
        Place(prefix % PasswordNames.RangesOfGroup);
        BinaryPrimitives.WriteUInt32LittleEndian(_entries.AsSpan(((_next - 1) * EntryBytes) + 4), Crc32.HashToUInt32(gzip));
        await _file.WriteAsync(gzip, cancellationToken);
    }

    public async Task<PackRecord> CompleteAsync(long rows, CancellationToken cancellationToken)
    {
        Place(PasswordNames.RangesOfGroup - 1);
        await _file.FlushAsync(cancellationToken);
        var length = _file.Position;
        _file.Position = 0;
        return new PackRecord(length, rows, PackRecord.NoETag, _entries);
    }

    public ValueTask DisposeAsync() => _file.DisposeAsync();

    /// <summary>Sets the offset of all ranges up to this one: those in between are empty.</summary>
    private void Place(int upTo)
    {
        if (_file.Position > uint.MaxValue)
            throw new BadInputException(
                "a pack would be larger than 4 GB: these are not passwords, or many times as many as there are");
        while (_next <= upTo)
            BinaryPrimitives.WriteUInt32LittleEndian(_entries.AsSpan(_next++ * EntryBytes), (uint)_file.Position);
    }
}
