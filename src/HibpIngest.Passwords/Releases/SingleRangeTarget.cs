namespace HibpIngest.Passwords.Releases;

/// <param name="maxConcurrency">The maximum number of concurrent writes of one group.</param>
/// <param name="needsRows">True if it writes rows rather than the gzip.</param>
internal abstract class SingleRangeTarget(
    IPasswordBlobs blobs, ReleaseKey release, HashMode mode, PasswordBackend backend, int maxConcurrency, bool needsRows) : IRangeTarget
{
    private readonly int _maxConcurrency = maxConcurrency;
    private readonly bool _needsRows = needsRows;

    public PasswordBackend Backend => backend;

    protected ReleaseKey Release => release;

    protected HashMode Mode => mode;

    public virtual Task BeginAsync(bool isNew, CancellationToken cancellationToken) => Task.CompletedTask;

    public IGroupTarget BeginGroup(int group) => new Group(this);

    public async Task<string> CompleteAsync(IReadOnlyList<GroupRecord> groups, CancellationToken cancellationToken) =>
        (await blobs.WriteAsync(
            PasswordNames.Present(release, backend, mode),
            PasswordContent.Binary(PresentRanges.Make(mode, groups.Select(group => (ReadOnlyMemory<byte>)group.Present))),
            IPasswordBlobs.AnyVersion, cancellationToken))!;

    protected abstract Task WriteAsync(int prefix, ReadOnlyMemory<HashCount> rows, byte[] gzip, CancellationToken cancellationToken);

    private sealed class Group(SingleRangeTarget target) : IGroupTarget
    {
        private readonly List<Task> _writing = [];

        public async ValueTask AddAsync(int prefix, ReadOnlyMemory<HashCount> rows, byte[] gzip, CancellationToken cancellationToken)
        {
            // The caller reuses the rows when this returns.
            _writing.Add(target.WriteAsync(prefix, target._needsRows ? rows.ToArray() : default, gzip, cancellationToken));
            if (_writing.Count < target._maxConcurrency)
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

        public async ValueTask DisposeAsync() => await Task.WhenAll(_writing).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
    }

}

internal sealed class BlobTarget(IPasswordBlobs blobs, ReleaseKey release, HashMode mode)
    : SingleRangeTarget(blobs, release, mode, PasswordBackend.Blob, maxConcurrency: 32, needsRows: false)
{
    private readonly IPasswordBlobs _blobs = blobs;

    protected override Task WriteAsync(int prefix, ReadOnlyMemory<HashCount> rows, byte[] gzip, CancellationToken cancellationToken) =>
        _blobs.WriteAsync(
            PasswordNames.Range(Release, Mode, prefix), PasswordContent.Range(gzip), IPasswordBlobs.AnyVersion, cancellationToken);
}

// Fewer at once than for blobs: each write has a partition of its own, but the service also limits the table as a whole.
internal sealed class TableTarget(PasswordStores stores, ReleaseKey release, HashMode mode)
    : SingleRangeTarget(stores.Blobs, release, mode, PasswordBackend.Table, maxConcurrency: 8, needsRows: true)
{
    private readonly string _table = PasswordNames.Table(release, mode);

    public override async Task BeginAsync(bool isNew, CancellationToken cancellationToken)
    {
        if (!await stores.Tables.CreateAsync(_table, cancellationToken) && isNew)
        {
            throw new NotPossibleException(
                $"table {_table} already exists, from another import: choose another name with --release, or delete that import: "
                + $"hibp passwords delete {Release.Name}");
        }
    }

    protected override Task WriteAsync(int prefix, ReadOnlyMemory<HashCount> rows, byte[] gzip, CancellationToken cancellationToken)
    {
        Span<byte> hash = stackalloc byte[Mode.Bytes()];
        var written = new PasswordRow[rows.Length];
        for (var i = 0; i < written.Length; i++)
        {
            rows.Span[i].WriteHash(hash);
            written[i] = new PasswordRow(Convert.ToHexString(hash)[HashModes.PrefixDigits..], rows.Span[i].Count);
        }
        return stores.Tables.WriteAsync(_table, HashModes.PrefixText(prefix), written, cancellationToken);
    }
}
