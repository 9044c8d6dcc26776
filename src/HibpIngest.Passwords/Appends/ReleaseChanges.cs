namespace HibpIngest.Passwords.Appends;

/// <summary>The ranges of a release that were added to, and when. One thread follows the log, many read the result.</summary>
internal sealed class ReleaseChanges(IPasswordBlobs blobs, ReleaseKey release, bool isReplica, TimeProvider time)
{
    private readonly ChangeLog _log = new(blobs, release);
    private readonly long[]?[] _changed = new long[]?[HashModes.All.Count];
    private ChangePlace _place = ChangePlace.Start;
    private volatile FollowedChanges _followed = new(DateTimeOffset.MinValue, ChangePlace.Start);

    public static async Task<ReleaseChanges> OpenAsync(
        IPasswordBlobs blobs, ReleaseKey release, TimeProvider time, CancellationToken cancellationToken, bool isReplica = false)
    {
        var changes = new ReleaseChanges(blobs, release, isReplica, time);
        await changes.FollowAsync(cancellationToken);
        return changes;
    }

    public FollowedChanges Followed => _followed;

    /// <summary>The last addition to a range, in milliseconds since 1970 or slightly more, so that each differs. 0: none.</summary>
    public long this[HashMode mode, int prefix] =>
        Volatile.Read(ref _changed[(int)mode]) is { } changed ? Volatile.Read(ref changed[prefix]) : 0;

    public async Task FollowAsync(CancellationToken cancellationToken)
    {
        var now = time.GetUtcNow();
        // Read before the changes: what is copied later may or may not be among them.
        var copied = isReplica
            ? (await ChangePlace.ReadAsync(blobs, PasswordNames.Copied(release), cancellationToken)).Place : ChangePlace.Start;
        while (true)
        {
            var place = await _log.ReadAsync(_place, Record, cancellationToken);
            if (place.IsAt(_place))
                break;
            _place = place;
        }
        _followed = new FollowedChanges(now, copied);
    }

    /// <summary>Returns the time of the first change after a position, or null.</summary>
    public async Task<DateTimeOffset?> FindFirstAsync(ChangePlace from, CancellationToken cancellationToken)
    {
        DateTimeOffset? first = null;
        await _log.ReadAsync(from, change =>
        {
            var at = DateTimeOffset.FromUnixTimeMilliseconds(change.Time);
            first = first < at ? first : at;
        }, cancellationToken, maxRecords: 1);
        return first;
    }

    public IEnumerable<int> Since(HashMode mode, DateTimeOffset since)
    {
        var (changed, from) = (Volatile.Read(ref _changed[(int)mode]), Math.Max(1, since.ToUnixTimeMilliseconds()));
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
internal sealed record FollowedChanges(DateTimeOffset At, ChangePlace Copied);
