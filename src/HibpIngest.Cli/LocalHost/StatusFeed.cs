using System.Diagnostics.Metrics;
using HibpIngest.Pipeline.Settings;

namespace HibpIngest.Cli.LocalHost;

/// <summary>
/// The figures of the status page. They are read from the stores only while somebody watches, and then once a second for all who do.
/// </summary>
internal sealed class StatusFeed : IDisposable
{
    public static readonly TimeSpan Every = TimeSpan.FromSeconds(1);

    // Five minutes.
    private const int MaxSamples = 300;

    // Loads to show if none is recent.
    private const int Newest = 20;

    // A page that was closed and opened again begins new charts.
    private static readonly TimeSpan MaxGap = TimeSpan.FromSeconds(15);

    // An available store responds in far less.
    private static readonly TimeSpan AnswerTimeout = TimeSpan.FromSeconds(10);

    private readonly IServiceProvider _services;
    private readonly PipelineSettings _settings;
    private readonly TimeProvider _time;
    private readonly LoadMotion _motion;
    private readonly SemaphoreSlim _reading = new(1, 1);
    private readonly MeterListener _meters = new();
    private readonly Queue<StatusSample> _samples = new();
    private Dictionary<long, Work> _done = [];
    private StatusFigures? _last;
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
        await _reading.WaitAsync(cancellationToken);
        try
        {
            if (_last is { } last && _time.GetElapsedTime(_readAt) < Every)
                return last;
            _last = await ReadNowAsync(cancellationToken);
            _readAt = _time.GetTimestamp();
            return _last;
        }
        finally
        {
            _reading.Release();
        }
    }

    public void Dispose()
    {
        _meters.Dispose();
        _reading.Dispose();
    }

    private async Task<StatusFigures> ReadNowAsync(CancellationToken cancellationToken)
    {
        using var timeout = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        timeout.CancelAfter(AnswerTimeout);
        var now = _time.GetUtcNow();
        try
        {
            var all = await StatusPicture.ReadAsync(_services, null, timeout.Token);
            var recent = all.Recent(now, Newest);
            var picture = await recent.WithWorkAsync(_services.GetRequiredService<IBreachDatabase>(), recent.Loads, timeout.Token);
            Sample(all.Loads, now);
            var mailsPerSecond = _settings.Get<MailOptions>().MailsPerSecond;
            return new StatusFigures(
                now, [.. picture.Loads.Reverse().Select(load => (load, picture.FiguresOf(load, now, mailsPerSecond, _motion.Moves(load))))],
                [.. StatusLines.Of(picture, now, _settings.Get<JournalOptions>().Mode == JournalMode.On)], picture.Queues, picture.Hosts,
                [.. _samples], Interlocked.Read(ref _throttled), Away: null);
        }
        catch (HibpException e) when (_last is not null)
        {
            return _last with { Away = e.Message };
        }
        catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
        {
            var reason = $"no answer for {AnswerTimeout.TotalSeconds:0} seconds";
            return _last is not null ? _last with { Away = reason } : throw new StoreUnavailableException(reason);
        }
    }

    /// <summary>Adds what all loads did since the last time.</summary>
    private void Sample(IReadOnlyList<Load> loads, DateTimeOffset now)
    {
        var done = loads.ToDictionary(load => load.Id, load => new Work(load.LastPosition, load.Entities, load.Notifications.Sent));
        if (_last is { } last && now - last.At < MaxGap && now > last.At)
        {
            var seconds = (now - last.At).TotalSeconds;
            _samples.Enqueue(new StatusSample(Rate(work => work.Rows), Rate(work => work.Accounts), Rate(work => work.Mails)));
            if (_samples.Count > MaxSamples)
                _samples.Dequeue();

            // A slice that is written again counts down.
            double Rate(Func<Work, long> of) =>
                done.Sum(one => Math.Max(0, of(one.Value) - (_done.TryGetValue(one.Key, out var before) ? of(before) : 0))) / seconds;
        }
        else
        {
            _samples.Clear();
        }
        _done = done;
    }

    private sealed record Work(long Rows, long Accounts, long Mails);
}

/// <summary>What the status page shows.</summary>
/// <param name="Loads">The newest first.</param>
/// <param name="Samples">The last minutes, a second each.</param>
/// <param name="Throttled">Responses of tables and database to this process that asked it to slow down.</param>
/// <param name="Away">Why these are not the current figures.</param>
internal sealed record StatusFigures(
    DateTimeOffset At, IReadOnlyList<(Load Load, LoadFigures Figures)> Loads, IReadOnlyList<StatusLine> Lines,
    IReadOnlyList<QueueDocument> Queues, IReadOnlyList<Heartbeat> Hosts, IReadOnlyList<StatusSample> Samples, long Throttled, string? Away);

internal readonly record struct StatusSample(double Rows, double Accounts, double Mails);
