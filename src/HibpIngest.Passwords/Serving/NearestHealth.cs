namespace HibpIngest.Passwords.Serving;

/// <summary>
/// Decides whether the nearest account is read. After several consecutive failures it is skipped, except by one request every few seconds.
/// Thread-safe.
/// </summary>
internal sealed class NearestHealth(TimeProvider time)
{
    /// <summary>Consecutive failures after which it is skipped; fewer occur in any network now and then.</summary>
    public const int MaxFailures = 5;

    /// <summary>The interval between trial reads while it is skipped.</summary>
    public static readonly TimeSpan TrialEvery = TimeSpan.FromSeconds(5);

    private int _failures;
    private long _triedAt;

    public NearestTrial Next()
    {
        if (Volatile.Read(ref _failures) < MaxFailures)
            return NearestTrial.First;
        var before = Volatile.Read(ref _triedAt);
        return time.GetElapsedTime(before) >= TrialEvery
            && Interlocked.CompareExchange(ref _triedAt, time.GetTimestamp(), before) == before ? NearestTrial.Beside : NearestTrial.None;
    }

    /// <summary>Records a response in time.</summary>
    public NearestChange Succeeded() =>
        Volatile.Read(ref _failures) > 0 && Interlocked.Exchange(ref _failures, 0) >= MaxFailures
            ? NearestChange.Back : NearestChange.None;

    /// <summary>Records a failure or a timeout.</summary>
    public NearestChange Failed()
    {
        // Set before the failure is counted, so that the first trial is a full interval from now.
        if (Volatile.Read(ref _failures) < MaxFailures)
            Volatile.Write(ref _triedAt, time.GetTimestamp());
        return Interlocked.Increment(ref _failures) == MaxFailures ? NearestChange.Skipped : NearestChange.None;
    }
}

internal enum NearestTrial
{
    None = 0,

    /// <summary>Read at the same time as the primary.</summary>
    Beside = 1,

    /// <summary>Read first; the primary is read only after a timeout.</summary>
    First = 2,
}

internal enum NearestChange
{
    None = 0,

    /// <summary>It is skipped from now on.</summary>
    Skipped = 1,

    Back = 2,
}
