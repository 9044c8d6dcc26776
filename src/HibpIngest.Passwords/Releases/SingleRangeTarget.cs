namespace HibpIngest.Passwords.Releases;

/// <summary>Writes ranges one by one, several at a time.</summary>
internal abstract class SingleRangeTarget(IPasswordBlobs blobs, ReleaseKey release, HashMode mode) : IRangeTarget
{
    public abstract PasswordBackend Backend { get; }

    /// <summary>The maximum number of concurrent writes of one group.</summary>
    protected abstract int AtOnce { get; }

    public abstract Task BeginAsync(bool isNew, CancellationToken cancellationToken);

    public IGroupTarget BeginGroup(int group) => new Group(this);

    public async Task<string> CompleteAsync(IReadOnlyList<GroupRecord> groups, CancellationToken cancellationToken) =>
        (await blobs.WriteAsync(
            PasswordNames.Present(release, Backend, mode),
            PasswordContent.Binary(PresentRanges.Make(mode, groups.Select(group => (ReadOnlyMemory<byte>)group.Present))),
            IPasswordBlobs.Anything, cancellationToken))!;

    protected abstract Task WriteAsync(
        int prefix, ReadOnlyMemory<HashCount> rows, byte[] gzip, CancellationToken cancellationToken);

    private sealed class Group(SingleRangeTarget target) : IGroupTarget
    {
        private readonly List<Task> _writing = [];

        public async ValueTask AddAsync(
            int prefix, ReadOnlyMemory<HashCount> rows, byte[] gzip, CancellationToken cancellationToken)
        {
            // The caller reuses the rows when this returns.
            _writing.Add(target.WriteAsync(prefix, target.KeepsRows ? rows.ToArray() : default, gzip, cancellationToken));
            if (_writing.Count < target.AtOnce)
                return;
            var done = await Task.WhenAny(_writing);
            _writing.Remove(done);
            await done;
        }

        public async Task<PackRecord?> CompleteAsync(long rows, CancellationToken cancellationToken)
        {
            await Task.WhenAll(_writing);
            return null;
        }

        public async ValueTask DisposeAsync() =>
            await Task.WhenAll(_writing).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
    }

    /// <summary>Whether it writes rows rather than the gzip.</summary>
    protected abstract bool KeepsRows { get; }
}

/// <summary>One blob per range.</summary>
internal sealed class BlobTarget(IPasswordBlobs blobs, ReleaseKey release, HashMode mode) : SingleRangeTarget(blobs, release, mode)
{
    private readonly (IPasswordBlobs Blobs, ReleaseKey Release, HashMode Mode) _to = (blobs, release, mode);

    public override PasswordBackend Backend => PasswordBackend.Blob;

    protected override int AtOnce => 32;

    protected override bool KeepsRows => false;

    public override Task BeginAsync(bool isNew, CancellationToken cancellationToken) => Task.CompletedTask;

    protected override Task WriteAsync(
        int prefix, ReadOnlyMemory<HashCount> rows, byte[] gzip, CancellationToken cancellationToken) => _to.Blobs.WriteAsync(
            PasswordNames.Range(_to.Release, _to.Mode, prefix), PasswordContent.Range(gzip), IPasswordBlobs.Anything, cancellationToken);
}

/// <summary>One entity per hash.</summary>
internal sealed class TableTarget(PasswordStores stores, ReleaseKey release, HashMode mode) : SingleRangeTarget(stores.Blobs, release, mode)
{
    private readonly string _table = PasswordNames.Table(release, mode);
    private readonly ReleaseKey _release = release;
    private readonly HashMode _mode = mode;

    public override PasswordBackend Backend => PasswordBackend.Table;

    // Each writes partitions of its own; the service limits what a table accepts.
    protected override int AtOnce => 8;

    protected override bool KeepsRows => true;

    public override async Task BeginAsync(bool isNew, CancellationToken cancellationToken)
    {
        if (!await stores.Tables.CreateAsync(_table, cancellationToken) && isNew)
        {
            throw new NotPossibleException(
                $"table {_table} is there already, from another import: name another release by --release, or delete that one by "
                + $"'hibp passwords delete {_release.Name}'");
        }
    }

    protected override Task WriteAsync(
        int prefix, ReadOnlyMemory<HashCount> rows, byte[] gzip, CancellationToken cancellationToken)
    {
        Span<byte> hash = stackalloc byte[_mode.Bytes()];
        var written = new PasswordRow[rows.Length];
        for (var i = 0; i < written.Length; i++)
        {
            rows.Span[i].WriteHash(hash);
            written[i] = new PasswordRow(Convert.ToHexString(hash)[HashModes.PrefixDigits..], rows.Span[i].Count);
        }
        return stores.Tables.WriteAsync(_table, HashModes.PrefixText(prefix), written, cancellationToken);
    }
}
