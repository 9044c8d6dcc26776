using System.IO.Hashing;

namespace HibpIngest.Passwords.Releases;

/// <param name="replaces">Version that is replaced, as in <see cref="IPasswordBlobs.WriteAsync"/>: any, or none.</param>
internal sealed class PackTarget(
    IPasswordBlobs blobs, ReleaseKey release, HashMode mode, string folder, string? replaces = IPasswordBlobs.AnyVersion) : IRangeTarget
{
    public PasswordBackend Backend => PasswordBackend.Pack;

    public Task BeginAsync(bool isNew, CancellationToken cancellationToken) => Task.CompletedTask;

    public IGroupTarget BeginGroup(int group) => new Group(this, group);

    public async Task<string> CompleteAsync(IReadOnlyList<GroupRecord> groups, CancellationToken cancellationToken) =>
        await blobs.WriteAsync(
            PasswordNames.Index(release, mode),
            PasswordContent.Binary(PackIndex.Make(mode, [.. groups.Select(group => group.Pack!)])), replaces, cancellationToken)
        ?? throw ConcurrentWrite();

    private PackFile Create(int group) => new(Path.Combine(folder, $"{mode.Name()}-{group:x2}.pack"), mode, group);

    private async Task<string> UploadAsync(int group, Stream content, CancellationToken cancellationToken) =>
        await blobs.UploadAsync(PasswordNames.Pack(release, mode, group), content, replaces, cancellationToken) ?? throw ConcurrentWrite();

    private NotPossibleException ConcurrentWrite() => new($"release {release.Name} is being written by another process");

    private sealed class Group(PackTarget target, int group) : IGroupTarget
    {
        private PackFile? _file;

        public ValueTask AddAsync(int prefix, ReadOnlyMemory<HashCount> rows, byte[] gzip, CancellationToken cancellationToken) =>
            (_file ??= target.Create(group)).AddAsync(prefix, gzip, cancellationToken);

        public async Task<PackRecord?> CompleteAsync(long rows, CancellationToken cancellationToken)
        {
            if (_file is null)
                return PackFile.NoRanges();
            var record = await _file.CompleteAsync(rows, cancellationToken);
            return record with { ETag = await target.UploadAsync(group, _file.Content, cancellationToken) };
        }

        public ValueTask DisposeAsync() => _file?.DisposeAsync() ?? ValueTask.CompletedTask;
    }
}

/// <summary>A pack that is being built in a temporary file, so that it needs no memory; disposing it deletes the file.</summary>
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
        // A killed process leaves nothing: the open file exists until it is closed.
        File.Delete(path);
        _file.Write(PackIndex.PackHeader(mode, group));
    }

    public Stream Content => _file;

    /// <summary>Returns the record of a pack without ranges, which is not written.</summary>
    public static PackRecord NoRanges()
    {
        var entries = new byte[PasswordNames.RangesOfGroup * EntryBytes];
        for (var at = 0; at < entries.Length; at += EntryBytes)
            BinaryPrimitives.WriteUInt32LittleEndian(entries.AsSpan(at), PackIndex.PackHeaderBytes);
        return new PackRecord(PackIndex.PackHeaderBytes, 0, PackRecord.NoETag, entries);
    }

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
            throw new BadInputException("a pack would be larger than 4 GB: this input can't be a list of passwords");
        while (_next <= upTo)
            BinaryPrimitives.WriteUInt32LittleEndian(_entries.AsSpan(_next++ * EntryBytes), (uint)_file.Position);
    }
}
