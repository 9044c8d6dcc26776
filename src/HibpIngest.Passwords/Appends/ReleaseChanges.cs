using HibpIngest.Stores;

namespace HibpIngest.Passwords;

/// <summary>
/// Which ranges of a release were added to, and when last: as its <see cref="ChangeLog"/> has it, followed by one and read by many.
/// </summary>
/// <param name="isReplica">It is followed up to where of the primary's changes it goes, too.</param>
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

    /// <summary>Up to when it is known what was added.</summary>
    public FollowedChanges Followed => _followed;

    /// <summary>
    /// When a range was added to last, in milliseconds since 1970, or a little later: another number each time. 0: it never was.
    /// </summary>
    public long this[HashMode mode, int prefix] =>
        Volatile.Read(ref _changed[(int)mode]) is { } changed ? Volatile.Read(ref changed[prefix]) : 0;

    public async Task FollowAsync(CancellationToken cancellationToken)
    {
        var now = time.GetUtcNow();
        // Before the changes: what is copied after it was read may be among them or not.
        var copied = isReplica
            ? (await ChangePlace.ReadAsync(blobs, PasswordNames.Copied(release), cancellationToken)).Place : ChangePlace.Start;
        while (true)
        {
            var place = await _log.ReadAsync(_place, Note, cancellationToken);
            if (place.IsAt(_place))
                break;
            _place = place;
        }
        _followed = new FollowedChanges(now, copied);
    }

    /// <summary>Returns when the first range behind a place was added to; null: none was.</summary>
    public async Task<DateTimeOffset?> FindFirstAsync(ChangePlace from, CancellationToken cancellationToken)
    {
        DateTimeOffset? first = null;
        await _log.ReadAsync(from, change =>
        {
            var at = DateTimeOffset.FromUnixTimeMilliseconds(change.Time);
            first = first < at ? first : at;
        }, cancellationToken, most: 1);
        return first;
    }

    /// <summary>The ranges that were added to from then on, in order.</summary>
    public IEnumerable<int> Since(HashMode mode, DateTimeOffset since)
    {
        var (changed, from) = (Volatile.Read(ref _changed[(int)mode]), Math.Max(1, since.ToUnixTimeMilliseconds()));
        for (var prefix = 0; prefix < changed?.Length; prefix++)
        {
            if (Volatile.Read(ref changed[prefix]) >= from)
                yield return prefix;
        }
    }

    private void Note(RangeChange change)
    {
        // 8 MB a mode: less than the index of its packs.
        ref var changed = ref _changed[(int)change.Mode];
        if (changed is null)
            Volatile.Write(ref changed, new long[HashModes.Ranges]);
        ref var last = ref changed[change.Prefix];
        Volatile.Write(ref last, Math.Max(change.Time, last + 1));
    }
}

/// <summary>How far changes were followed.</summary>
/// <param name="At">Changes until then are known.</param>
/// <param name="Copied">In a replica, up to where in the primary's list.</param>
internal sealed record FollowedChanges(DateTimeOffset At, ChangePlace Copied);
