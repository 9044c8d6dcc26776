namespace HibpIngest.Passwords;

/// <summary>
/// Whether the nearest account is asked at all: after some failures in a row it is not, save by one request every few seconds.
/// Thread-safe.
/// </summary>
internal sealed class NearestHealth(TimeProvider time)
{
    /// <summary>In a row: fewer are what any network does now and then.</summary>
    public const int MostFailures = 5;

    /// <summary>Between two trials while it is skipped.</summary>
    public static readonly TimeSpan TrialEvery = TimeSpan.FromSeconds(5);

    private int _failures;
    private long _triedAt;

    public NearestTrial Next()
    {
        if (Volatile.Read(ref _failures) < MostFailures)
            return NearestTrial.First;
        var before = Volatile.Read(ref _triedAt);
        return time.GetElapsedTime(before) >= TrialEvery
            && Interlocked.CompareExchange(ref _triedAt, time.GetTimestamp(), before) == before ? NearestTrial.Beside : NearestTrial.None;
    }

    /// <summary>It answered in time.</summary>
    public NearestChange Succeeded() =>
        Volatile.Read(ref _failures) > 0 && Interlocked.Exchange(ref _failures, 0) >= MostFailures
            ? NearestChange.Back : NearestChange.None;

    /// <summary>It failed, or took too long.</summary>
    public NearestChange Failed()
    {
        // Before it counts: the first trial is a while from now.
        if (Volatile.Read(ref _failures) < MostFailures)
            Volatile.Write(ref _triedAt, time.GetTimestamp());
        return Interlocked.Increment(ref _failures) == MostFailures ? NearestChange.Skipped : NearestChange.None;
    }
}

internal enum NearestTrial
{
    None = 0,

    /// <summary>At the same time as the primary.</summary>
    Beside = 1,

    /// <summary>And the primary only when that takes too long.</summary>
    First = 2,
}

internal enum NearestChange
{
    None = 0,

    /// <summary>It is skipped from now on.</summary>
    Skipped = 1,

    Back = 2,
}
