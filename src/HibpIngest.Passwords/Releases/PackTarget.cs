namespace HibpIngest.Passwords.Releases;

/// <param name="replaces">The versions that the blobs replace, as in <see cref="IPasswordBlobs.WriteAsync"/>: any version, or none.</param>
internal sealed class PackTarget(
    IPasswordBlobs blobs, ReleaseKey release, HashMode mode, string folder, string? replaces = IPasswordBlobs.Anything) : IRangeTarget
{
    public PasswordBackend Backend => PasswordBackend.Pack;

    public Task BeginAsync(bool isNew, CancellationToken cancellationToken) => Task.CompletedTask;

    public IGroupTarget BeginGroup(int group) => new Group(this, group);

    public async Task<string> CompleteAsync(IReadOnlyList<GroupRecord> groups, CancellationToken cancellationToken) =>
        await blobs.WriteAsync(
            PasswordNames.Index(release, mode),
            PasswordContent.Binary(PackIndex.Make(mode, [.. groups.Select(group => group.Pack!)])), replaces, cancellationToken)
        ?? throw SomebodyElse();

    private PackFile Begin(int group) => new(Path.Combine(folder, $"{mode.Name()}-{group:x2}.pack"), mode, group);

    private async Task<string> UploadAsync(int group, Stream content, CancellationToken cancellationToken) =>
        await blobs.UploadAsync(PasswordNames.Pack(release, mode, group), content, replaces, cancellationToken) ?? throw SomebodyElse();

    private NotPossibleException SomebodyElse() => new($"release {release.Name} is just being written by somebody else");

    private sealed class Group(PackTarget target, int group) : IGroupTarget
    {
        private PackFile? _file;

        public ValueTask AddAsync(int prefix, ReadOnlyMemory<HashCount> rows, byte[] gzip, CancellationToken cancellationToken) =>
            (_file ??= target.Begin(group)).AddAsync(prefix, gzip, cancellationToken);

        public async Task<PackRecord?> CompleteAsync(long rows, CancellationToken cancellationToken)
        {
            if (_file is null)
                return PackFile.OfNothing();
            var record = await _file.CompleteAsync(rows, cancellationToken);
            return record with { ETag = await target.UploadAsync(group, _file.Content, cancellationToken) };
        }

        public ValueTask DisposeAsync() => _file?.DisposeAsync() ?? ValueTask.CompletedTask;
    }
}
