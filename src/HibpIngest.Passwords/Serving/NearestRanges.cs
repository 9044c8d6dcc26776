using Microsoft.Extensions.Caching.Memory;
using Microsoft.Extensions.Options;

namespace HibpIngest.Passwords.Serving;

/// <summary>Pwned Passwords from the nearest account, and from the primary if that one fails, is slow, or doesn't serve them.</summary>
public sealed partial class NearestRanges : IPasswordRanges
{
    private readonly PasswordRanges _nearest;
    private readonly PasswordRanges _primary;
    private readonly MemoryCache? _cache;
    private readonly NearestHealth _health;
    private readonly TimeSpan _timeout;
    private readonly TimeProvider _time;
    private readonly ILogger _log;

    public NearestRanges(
        PasswordStores nearest, PasswordStores primary, IOptions<PasswordOptions> options, TimeProvider time, ILoggerFactory logs)
    {
        (_timeout, _time, _log) = (options.Value.PasswordsNearestTimeout, time, logs.CreateLogger<NearestRanges>());
        _cache = PasswordRanges.NewCache(options.Value);
        _nearest = new PasswordRanges(nearest, options.Value, _cache, isReplica: true, time, _log);
        _primary = new PasswordRanges(primary, options.Value, _cache, isReplica: false, time, logs.CreateLogger<PasswordRanges>());
        _health = new NearestHealth(time);
    }

    public Task RunAsync(CancellationToken cancellationToken) =>
        Task.WhenAll(_nearest.RunAsync(cancellationToken), _primary.RunAsync(cancellationToken));

    public async Task RefreshAsync(CancellationToken cancellationToken)
    {
        var nearest = _nearest.RefreshAsync(cancellationToken);
        try
        {
            await _primary.RefreshAsync(cancellationToken);
        }
        finally
        {
            // A failure is logged; what is served doesn't depend on it.
            await nearest.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }
    }

    public ValueTask<RangeContent?> FindAsync(HashMode mode, int prefix, CancellationToken cancellationToken)
    {
        // Until it is known what the nearest account serves, the primary is read.
        if (!_nearest.IsRead || _health.Next() is not (var trial and not NearestTrial.None))
            return _primary.FindAsync(mode, prefix, cancellationToken);
        var near = _nearest.FindAsync(mode, prefix, cancellationToken);
        if (!near.IsCompletedSuccessfully)
            return new(FindAsync(near.AsTask(), trial, mode, prefix, cancellationToken));
        // The range came from the cache, which says nothing about the account's health.
        return near.Result is { } known ? new(known) : _primary.FindAsync(mode, prefix, cancellationToken);
    }

    // A change of the primary that the nearest account has not copied yet is later than the returned time: the next request reports it.
    public async ValueTask<ChangedRanges?> FindChangesAsync(HashMode mode, DateTimeOffset since, CancellationToken cancellationToken) =>
        (_nearest.IsRead ? await _nearest.FindChangesAsync(mode, since, _primary, cancellationToken) : null)
        ?? await _primary.FindChangesAsync(mode, since, cancellationToken);

    public void Dispose()
    {
        _nearest.Dispose();
        _primary.Dispose();
        _cache?.Dispose();
    }

    private async Task<RangeContent?> FindAsync(
        Task<RangeContent?> reading, NearestTrial trial, HashMode mode, int prefix, CancellationToken cancellationToken)
    {
        var near = TryAsync(reading);
        // The request that tries whether the account is back reads the primary at the same time, and so loses no time.
        if (trial == NearestTrial.First && await EndsAsync(near, cancellationToken) && await near is { } range)
            return range;
        if (trial == NearestTrial.First && !near.IsCompleted)
            RecordFailure();
        var far = _primary.FindAsync(mode, prefix, cancellationToken).AsTask();
        if (await Task.WhenAny(near, far) == near && await near is { } late)
        {
            // Observe the exception: the result is no longer needed.
            _ = far.ContinueWith(
                static task => task.Exception, CancellationToken.None, TaskContinuationOptions.OnlyOnFaulted, TaskScheduler.Default);
            return late;
        }
        try
        {
            return await far;
        }
        catch (HibpException) when (!near.IsCompleted)
        {
            if (await EndsAsync(near, cancellationToken) && await near is { } last)
                return last;
            throw;
        }
    }

    private async Task<bool> EndsAsync(Task near, CancellationToken cancellationToken)
    {
        try
        {
            await near.WaitAsync(_timeout, _time, cancellationToken);
            return true;
        }
        catch (TimeoutException)
        {
            return false;
        }
    }

    /// <summary>Reads from the nearest account, recording the outcome if it is in time; a timeout is recorded by its caller.</summary>
    /// <returns>Null if the account has nothing, or can't be read.</returns>
    private async Task<RangeContent?> TryAsync(Task<RangeContent?> reading)
    {
        var began = _time.GetTimestamp();
        try
        {
            var range = await reading;
            if (_time.GetElapsedTime(began) <= _timeout && _health.Succeeded())
                LogBack();
            return range;
        }
        catch (HibpException)
        {
            if (_time.GetElapsedTime(began) <= _timeout)
                RecordFailure();
            return null;
        }
    }

    private void RecordFailure()
    {
        if (_health.Failed())
            LogSkipped(NearestHealth.MaxFailures);
    }

    [LoggerMessage(
        EventIds.NearestRangesSkipped, LogLevel.Warning,
        "passwords: nearest storage account failed or was slow {Times} times in a row; reading the primary until it recovers")]
    private partial void LogSkipped(int times);

    [LoggerMessage(EventIds.NearestRangesBack, LogLevel.Warning, "passwords: nearest storage account in use again")]
    private partial void LogBack();
}

/// <summary>Skips the nearest account after consecutive failures, except for a trial every few seconds. Thread-safe.</summary>
internal sealed class NearestHealth(TimeProvider time)
{
    /// <summary>Fewer consecutive failures occur in any network now and then.</summary>
    public const int MaxFailures = 5;

    public static readonly TimeSpan TrialEvery = TimeSpan.FromSeconds(5);

    private int _failures;
    private long _triedAt;

    public NearestTrial Next()
    {
        if (Volatile.Read(ref _failures) < MaxFailures)
            return NearestTrial.First;
        var before = Volatile.Read(ref _triedAt);
        return time.GetElapsedTime(before) >= TrialEvery
            && Interlocked.CompareExchange(ref _triedAt, time.GetTimestamp(), before) == before
            ? NearestTrial.Concurrent : NearestTrial.None;
    }

    /// <returns>True if the account is read again from now on.</returns>
    public bool Succeeded() => Volatile.Read(ref _failures) > 0 && Interlocked.Exchange(ref _failures, 0) >= MaxFailures;

    /// <returns>True if the account is skipped from now on.</returns>
    public bool Failed()
    {
        // Set before the failure is counted, so that the first trial is a full interval from now.
        if (Volatile.Read(ref _failures) < MaxFailures)
            Volatile.Write(ref _triedAt, time.GetTimestamp());
        return Interlocked.Increment(ref _failures) == MaxFailures;
    }
}

internal enum NearestTrial
{
    None = 0,

    /// <summary>Read at the same time as the primary.</summary>
    Concurrent = 1,

    /// <summary>Read first; the primary is read only after a timeout.</summary>
    First = 2,
}
