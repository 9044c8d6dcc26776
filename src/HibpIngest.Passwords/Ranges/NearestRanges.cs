using HibpIngest.Errors;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Caching.Memory;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;

namespace HibpIngest.Passwords;

/// <summary>
/// Pwned Passwords of the nearest of several accounts, and of the primary where that one fails, is slow, or doesn't serve them: each
/// answer is of one release as one account has it. The two may serve different releases for a while.
/// </summary>
public sealed partial class NearestRanges : IPasswordRanges
{
    private readonly PasswordRanges _nearest;
    private readonly PasswordRanges _primary;
    private readonly MemoryCache? _cache;
    private readonly NearestHealth _health;
    private readonly TimeSpan _timeout;
    private readonly TimeProvider _time;
    private readonly ILogger _log;

    /// <param name="options">What is served, how long the nearest is waited for, and how much memory is for both.</param>
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
            // Logged; what is served doesn't depend on it.
            await nearest.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }
    }

    public ValueTask<RangeContent?> FindAsync(HashMode mode, int prefix, CancellationToken cancellationToken)
    {
        // Until it is known what the nearest serves, the primary counts.
        if (!_nearest.IsRead || _health.Next() is not (var trial and not NearestTrial.None))
            return _primary.FindAsync(mode, prefix, cancellationToken);
        var near = _nearest.FindAsync(mode, prefix, cancellationToken);
        if (!near.IsCompletedSuccessfully)
            return new(FindAsync(near.AsTask(), trial, mode, prefix, cancellationToken));
        // From memory, which says nothing of the account.
        return near.Result is { } known ? new(known) : _primary.FindAsync(mode, prefix, cancellationToken);
    }

    /// <inheritdoc/>
    /// <remarks>
    /// Of the account that is read first. What the primary has changed, and that one hasn't got yet, is behind the answer's end: it is told
    /// later, here or wherever the next question is asked.
    /// </remarks>
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
        // One request tries whether it is back, and loses no time by that.
        if (trial == NearestTrial.First && await EndsAsync(near, cancellationToken) && await near is { } range)
            return range;
        if (trial == NearestTrial.First && !near.IsCompleted)
            Note(_health.Failed());
        var far = _primary.FindAsync(mode, prefix, cancellationToken).AsTask();
        if (await Task.WhenAny(near, far) == near && await near is { } late)
        {
            // Nobody asks any more what became of it.
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

    /// <summary>Whether it ends in time.</summary>
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

    /// <summary>What the nearest has; null: nothing, or it can't be read. Noted where it came in time: who waited longer has.</summary>
    private async Task<RangeContent?> TryAsync(Task<RangeContent?> reading)
    {
        var began = _time.GetTimestamp();
        try
        {
            var range = await reading;
            if (_time.GetElapsedTime(began) <= _timeout)
                Note(_health.Succeeded());
            return range;
        }
        catch (HibpException)
        {
            if (_time.GetElapsedTime(began) <= _timeout)
                Note(_health.Failed());
            return null;
        }
    }

    private void Note(NearestChange change)
    {
        if (change == NearestChange.Skipped)
            LogSkipped(NearestHealth.MostFailures);
        else if (change == NearestChange.Back)
            LogBack();
    }

    [LoggerMessage(
        EventIds.NearestRangesSkipped, LogLevel.Warning,
        "passwords: the nearest storage account failed or was slow {Times} times in a row; the primary is read until it is back")]
    private partial void LogSkipped(int times);

    [LoggerMessage(EventIds.NearestRangesBack, LogLevel.Warning, "passwords: the nearest storage account is read again")]
    private partial void LogBack();
}
