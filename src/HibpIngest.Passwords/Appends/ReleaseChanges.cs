namespace HibpIngest.Passwords.Appends;

/// <summary>The ranges of a release that were added to, and when. One thread reads the change log, many read the result.</summary>
internal sealed class ReleaseChanges(IPasswordBlobs blobs, ReleaseKey release, bool isReplica, TimeProvider time)
{
    // 0 means that a range is unchanged.
    private const long FirstTime = 1;

    private readonly ChangeLog _changeLog = new(blobs, release);
    private readonly long[]?[] _changed = new long[]?[HashModes.All.Count];
    private ChangePosition _position = ChangePosition.Start;
    private volatile ChangesRead _lastRead = new(DateTimeOffset.MinValue, ChangePosition.Start);

    public static async Task<ReleaseChanges> OpenAsync(
        IPasswordBlobs blobs, ReleaseKey release, TimeProvider time, CancellationToken cancellationToken, bool isReplica = false)
    {
        var changes = new ReleaseChanges(blobs, release, isReplica, time);
        await changes.RefreshAsync(cancellationToken);
        return changes;
    }

    public ChangesRead LastRead => _lastRead;

    /// <summary>
    /// Unix time of the last addition to a range in milliseconds, increased where needed so that no two additions to a range are equal. 0:
    /// none.
    /// </summary>
    public long this[HashMode mode, int prefix] =>
        Volatile.Read(ref _changed[(int)mode]) is { } changed ? Volatile.Read(ref changed[prefix]) : 0;

    public async Task RefreshAsync(CancellationToken cancellationToken)
    {
        var now = time.GetUtcNow();
        // The copied position is read first, so that every change up to it is among the changes read next.
        var copied = isReplica
            ? (await ChangePosition.ReadAsync(blobs, PasswordNames.Copied(release), cancellationToken)).Position : ChangePosition.Start;
        while (true)
        {
            var position = await _changeLog.ReadAsync(_position, Record, cancellationToken);
            if (position.IsAt(_position))
                break;
            _position = position;
        }
        _lastRead = new ChangesRead(now, copied);
    }

    public async Task<DateTimeOffset?> FindFirstAsync(ChangePosition from, CancellationToken cancellationToken)
    {
        // One record from each of up to two files: the earlier one is the first change.
        DateTimeOffset? first = null;
        await _changeLog.ReadAsync(from, change =>
        {
            var at = DateTimeOffset.FromUnixTimeMilliseconds(change.Time);
            if (first is null || at < first)
                first = at;
        }, cancellationToken, maxRecordsPerFile: 1);
        return first;
    }

    public IEnumerable<int> Since(HashMode mode, DateTimeOffset since)
    {
        var (changed, from) = (Volatile.Read(ref _changed[(int)mode]), Math.Max(FirstTime, since.ToUnixTimeMilliseconds()));
        for (var prefix = 0; prefix < changed?.Length; prefix++)
        {
            if (Volatile.Read(ref changed[prefix]) >= from)
                yield return prefix;
        }
    }

    private void Record(RangeChange change)
    {
        // 8 MB per mode: less than the index of its packs.
        ref var changed = ref _changed[(int)change.Mode];
        if (changed is null)
            Volatile.Write(ref changed, new long[HashModes.Ranges]);
        ref var last = ref changed[change.Prefix];
        Volatile.Write(ref last, Math.Max(change.Time, last + 1));
    }
}

/// <param name="Copied">In a replica, the position up to which the primary's changes were copied.</param>
internal sealed record ChangesRead(DateTimeOffset At, ChangePosition Copied);
