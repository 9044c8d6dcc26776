using System.Diagnostics.Metrics;

namespace HibpIngest.Cli.LocalHost;

/// <summary>Reads the figures at most once a second, however many status pages are open, and not at all if none is.</summary>
internal sealed class StatusFeed : IDisposable
{
    public static readonly TimeSpan PollInterval = TimeSpan.FromSeconds(1);

    // Five minutes at one sample per poll.
    private const int MaxSamples = 300;

    private const int MaxLoadsIfNoneIsRecent = 20;

    // After a longer gap the charts start over: no page was open.
    private static readonly TimeSpan MaxGap = TimeSpan.FromSeconds(15);

    // An available store responds within milliseconds.
    private static readonly TimeSpan ReadTimeout = TimeSpan.FromSeconds(10);

    private readonly IServiceProvider _services;
    private readonly PipelineSettings _settings;
    private readonly TimeProvider _time;
    private readonly LoadMotion _motion;
    private readonly SemaphoreSlim _readLock = new(1, 1);
    private readonly MeterListener _meters = new();
    private readonly Queue<StatusSample> _samples = new();
    private Dictionary<LoadId, Work> _previousWork = [];
    private StatusFigures? _lastFigures;
    private long _readAt;
    private long _throttled;

    public StatusFeed(IServiceProvider services, PipelineSettings settings, TimeProvider time)
    {
        (_services, _settings, _time, _motion) = (services, settings, time, new LoadMotion(time));
        _meters.InstrumentPublished = (instrument, listener) =>
        {
            if (instrument.Name is TelemetryNames.Instruments.TableThrottled or TelemetryNames.Instruments.SqlThrottled)
                listener.EnableMeasurementEvents(instrument);
        };
        _meters.SetMeasurementEventCallback<long>((_, count, _, _) => Interlocked.Add(ref _throttled, count));
        _meters.Start();
    }

    /// <summary>Returns the current figures; if a store doesn't respond, the last ones, with the reason.</summary>
    /// <exception cref="HibpException">There are none yet, because a store doesn't respond or doesn't exist.</exception>
    public async Task<StatusFigures> ReadAsync(CancellationToken cancellationToken)
    {
        await _readLock.WaitAsync(cancellationToken);
        try
        {
            if (_lastFigures is { } last && _time.GetElapsedTime(_readAt) < PollInterval)
                return last;
            _lastFigures = await ReadNowAsync(cancellationToken);
            _readAt = _time.GetTimestamp();
            return _lastFigures;
        }
        finally
        {
            _readLock.Release();
        }
    }

    public void Dispose()
    {
        _meters.Dispose();
        _readLock.Dispose();
    }

    private async Task<StatusFigures> ReadNowAsync(CancellationToken cancellationToken)
    {
        using var timeout = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        timeout.CancelAfter(ReadTimeout);
        var now = _time.GetUtcNow();
        try
        {
            var all = await StatusSnapshot.ReadAsync(_services, null, timeout.Token);
            var recent = all.Recent(now, MaxLoadsIfNoneIsRecent);
            var picture = await recent.WithWorkAsync(_services.GetRequiredService<IBreachDatabase>(), recent.Loads, timeout.Token);
            Sample(all.Loads, now);
            var mailsPerSecond = _settings.Get<MailOptions>().MailsPerSecond;
            return new StatusFigures(
                now, [.. picture.Loads.Reverse().Select(load => (load, picture.FiguresOf(load, now, mailsPerSecond, _motion.Moves(load))))],
                [.. StatusLines.Of(picture, now, _settings.Get<JournalOptions>().Mode == JournalMode.On)], picture.Queues, picture.Hosts,
                [.. _samples], Interlocked.Read(ref _throttled), StaleReason: null);
        }
        catch (HibpException e) when (_lastFigures is not null)
        {
            return _lastFigures with { StaleReason = e.Message };
        }
        catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
        {
            var reason = $"the store did not respond within {ReadTimeout.TotalSeconds:0} seconds";
            return _lastFigures is not null ? _lastFigures with { StaleReason = reason } : throw new UnavailableException(reason);
        }
    }

    private void Sample(IReadOnlyList<Load> loads, DateTimeOffset now)
    {
        var done = loads.ToDictionary(load => load.Id, load => new Work(load.LastPosition, load.Entities, load.Notifications.Sent));
        if (_lastFigures is { } last && now - last.At < MaxGap && now > last.At)
        {
            var seconds = (now - last.At).TotalSeconds;
            _samples.Enqueue(new StatusSample(Rate(work => work.Rows), Rate(work => work.Accounts), Rate(work => work.Mails)));
            if (_samples.Count > MaxSamples)
                _samples.Dequeue();

            // Math.Max: a slice that is rewritten lowers its load's entity count.
            double Rate(Func<Work, long> of) =>
                done.Sum(one => Math.Max(0, of(one.Value) - (_previousWork.TryGetValue(one.Key, out var before) ? of(before) : 0)))
                / seconds;
        }
        else
        {
            _samples.Clear();
        }
        _previousWork = done;
    }

    private sealed record Work(long Rows, long Accounts, long Mails);
}

/// <param name="Loads">The newest first.</param>
/// <param name="Samples">The last 300, one per poll: five minutes while the page is open.</param>
/// <param name="Throttled">Number of throttling responses that this process received from tables and the database.</param>
internal sealed record StatusFigures(
    DateTimeOffset At, IReadOnlyList<(Load Load, LoadFigures Figures)> Loads, IReadOnlyList<StatusLine> Lines,
    IReadOnlyList<QueueDocument> Queues, IReadOnlyList<Heartbeat> Hosts, IReadOnlyList<StatusSample> Samples, long Throttled,
    string? StaleReason);

internal readonly record struct StatusSample(double Rows, double Accounts, double Mails);
