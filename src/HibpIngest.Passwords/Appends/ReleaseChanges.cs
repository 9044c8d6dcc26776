using HibpIngest.Stores;

namespace HibpIngest.Passwords;

/// <summary>
/// Which ranges of a release were added to, and when last: as its <see cref="ChangeLog"/> has it, followed by one and read by many.
/// </summary>
internal sealed class ReleaseChanges(ChangeLog log, TimeProvider time)
{
    private readonly long[]?[] _changed = new long[]?[HashModes.All.Count];
    private ChangePlace _place = ChangePlace.Start;
    private long _followedAt;

    /// <summary>Opens those of a release, as they are now.</summary>
    public static async Task<ReleaseChanges> OpenAsync(
        IPasswordBlobs blobs, string release, TimeProvider time, CancellationToken cancellationToken)
    {
        var changes = new ReleaseChanges(new ChangeLog(blobs, release), time);
        await changes.FollowAsync(cancellationToken);
        return changes;
    }

    /// <summary>Up to when it is known what was added.</summary>
    public DateTimeOffset FollowedAt => new(Volatile.Read(ref _followedAt), TimeSpan.Zero);

    /// <summary>
    /// When a range was added to last, in milliseconds since 1970, or a little later: another number each time. 0: it never was.
    /// </summary>
    public long this[HashMode mode, int prefix] =>
        Volatile.Read(ref _changed[(int)mode]) is { } changed ? Volatile.Read(ref changed[prefix]) : 0;

    /// <summary>Reads what has come since.</summary>
    public async Task FollowAsync(CancellationToken cancellationToken)
    {
        var now = time.GetUtcNow();
        while (true)
        {
            var place = await log.ReadAsync(_place, Note, cancellationToken);
            if (place.IsAt(_place))
                break;
            _place = place;
        }
        Volatile.Write(ref _followedAt, now.UtcTicks);
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
