namespace HibpIngest.Api.AccessLog;

/// <summary>
/// Writes records to append blobs by group commit: the next group gathers during an append, so that its size follows the load and the
/// store's latency, and no record waits for a timer. There is one writer, so that positions are known.
/// </summary>
/// <remarks>
/// After a failed append, requests that must be logged are refused at once until one succeeds; the gathered groups are kept and retried
/// each second. The number of waiting records is limited: records beyond it are not logged, but counted.
/// </remarks>
public sealed partial class GroupCommitLog : IAccessLog, IAsyncDisposable
{
    /// <summary>Maximum number of waiting records: one append takes as many.</summary>
    public const int MaxWaiting = (IAccessBlobs.MaxBlockBytes / AccessFrame.RecordBytes) - 1_000;

    private static readonly TimeSpan RetryEvery = TimeSpan.FromSeconds(1);

    // Interval between two warnings while the store is slow.
    private static readonly TimeSpan ReportEvery = TimeSpan.FromSeconds(10);

    // Well within the 30 s that a host gives its processes to stop.
    private static readonly TimeSpan ShutdownTimeout = TimeSpan.FromSeconds(15);

    private readonly int _room;
    private readonly TimeProvider _time;
    private readonly ILogger<GroupCommitLog> _log;
    private readonly Guid _instance = Guid.NewGuid();
    private readonly AccessBlobWriter _blob;
    private readonly Lock _gate = new();
    private readonly SemaphoreSlim _hasRecords = new(0);
    private readonly CancellationTokenSource _giveUp = new();
    private readonly Task _writing;
    private AccessGroup _gathering = new();
    private AccessGroup _inProgress = new();
    private ulong _next;
    private long _notLogged;
    private long _reported; // how many of them were reported; accessed by the writer only, like the time below
    private long? _reportedAt;
    private string? _down;
    private bool _ending;

    /// <param name="routes">Route templates, which records name by index.</param>
    /// <param name="mostWaiting">Maximum number of waiting records, up to <see cref="MaxWaiting"/>.</param>
    /// <param name="log">Receives counts only.</param>
    public GroupCommitLog(IAccessBlobs blobs, IReadOnlyList<string> routes, int mostWaiting, TimeProvider time, ILogger<GroupCommitLog> log)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThan(mostWaiting, MaxWaiting);
        (_room, _time, _log) = (mostWaiting, time, log);
        _blob = new AccessBlobWriter(blobs, _instance, routes, time);
        _writing = Task.Run(WriteAsync);
    }

    /// <summary>Records that were not logged, because too many were waiting or the log ended.</summary>
    public long NotLogged => Interlocked.Read(ref _notLogged);

    public bool IsDown
    {
        get
        {
            lock (_gate)
                return _down is not null;
        }
    }

    public ValueTask AppendAsync(in AccessRecord record)
    {
        lock (_gate)
        {
            if (_down is not null)
                throw Refuse(record);
            if (HasRoom)
                return new ValueTask(TakeToWait(record));
        }
        return new ValueTask(WaitForRoomAsync(record));
    }

    public void Add(in AccessRecord record)
    {
        lock (_gate)
        {
            if (HasRoom)
            {
                Take(record, 0);
                return;
            }
        }
        CountNotLogged(1);
    }

    /// <summary>Writes the waiting records and ends the blob. Must be called after the last response.</summary>
    public async ValueTask DisposeAsync()
    {
        lock (_gate)
        {
            if (_ending)
                return;
            _ending = true;
        }
        _hasRecords.Release();
        await using (_time.CreateTimer(_ => _giveUp.Cancel(), null, ShutdownTimeout, Timeout.InfiniteTimeSpan))
            await _writing;
        if (NotLogged > _reported)
            LogLost(NotLogged);
        _giveUp.Dispose();
        _hasRecords.Dispose();
    }

    private bool HasRoom => _gathering.Count + _inProgress.Count < _room && !_ending;

    private Task TakeToWait(in AccessRecord record)
    {
        Take(record, AccessFrame.Durable);
        return _gathering.Ended;
    }

    private void Take(in AccessRecord record, byte flags)
    {
        _gathering.Add(record, flags);
        _next++;
        if (_gathering.Count == 1)
            _hasRecords.Release();
    }

    /// <summary>Requires the lock. Records the request as answered 503.</summary>
    private AccessLogDownException Refuse(in AccessRecord record)
    {
        if (HasRoom)
            Take(record with { Status = AccessFrame.NotDurableStatus, Bytes = AccessRecord.UnknownBytes }, 0);
        else
            CountNotLogged(1);
        return new AccessLogDownException(_down ?? UnexpectedError.Stopped);
    }

    private async Task WaitForRoomAsync(AccessRecord record)
    {
        while (true)
        {
            bool isTaken;
            Task ended;
            lock (_gate)
            {
                if (_down is not null || _ending)
                    throw Refuse(record);
                isTaken = HasRoom;
                // If there is no room, one of the two groups has records, and its write will complete.
                ended = isTaken ? TakeToWait(record) : (_gathering.Count > 0 ? _gathering : _inProgress).Ended;
            }
            try
            {
                await ended;
            }
            catch (AccessLogDownException) when (!isTaken)
            {
                // The other group's failure. The loop refuses this record, or takes it if the store is back.
            }
            if (isTaken)
                return;
        }
    }

    private async Task WriteAsync()
    {
        while (true)
        {
            await _hasRecords.WaitAsync();
            ulong first;
            lock (_gate)
            {
                if (_gathering.Count == 0)
                    break; // the semaphore was released without a record: the log ends
                (_inProgress, _gathering) = (_gathering, _inProgress);
                first = _next - (ulong)_inProgress.Count;
            }
            await CommitAsync(first);
        }
        await _blob.EndAsync(_giveUp.Token);
    }

    private async Task CommitAsync(ulong first)
    {
        while (true)
        {
            try
            {
                AccessFrame.WriteHeader(_inProgress.Frame.Span, AccessFrameKind.Records, first, _instance);
                await _blob.AppendAsync(_inProgress.Frame, _giveUp.Token);
                OnWritten();
                return;
            }
            catch (Exception e)
            {
                // Any exception: if the writer stopped, all callers would wait forever.
                OnFailed(e);
            }
            try
            {
                await Task.Delay(RetryEvery, _time, _giveUp.Token);
            }
            catch (OperationCanceledException)
            {
                CountNotLogged(_inProgress.Count);
                lock (_gate)
                    _inProgress.Clear();
                return;
            }
        }
    }

    private void OnWritten()
    {
        string? wasDown;
        var (written, notLogged) = (_inProgress.Count, NotLogged);
        lock (_gate)
        {
            (wasDown, _down) = (_down, null);
            _inProgress.Clear();
        }
        _inProgress.Complete();
        HibpTelemetry.AccessLogged(written);
        if (wasDown is null && (notLogged == _reported || (_reportedAt is { } at && _time.GetElapsedTime(at) < ReportEvery)))
            return;
        (_reported, _reportedAt) = (notLogged, _time.GetTimestamp());
        if (wasDown is null)
            LogFull(notLogged);
        else
            LogUp(notLogged);
    }

    private void OnFailed(Exception error)
    {
        var reason = UnexpectedError.Reason(error);
        bool wasUp;
        lock (_gate)
        {
            wasUp = _down is null;
            _down = reason;
            var refusal = new AccessLogDownException(reason);
            _inProgress.Fail(refusal);
            _gathering.Fail(refusal);
        }
        if (wasUp)
            LogDown(error is HibpException ? reason : UnexpectedError.Describe(error));
    }

    private void CountNotLogged(int records)
    {
        Interlocked.Add(ref _notLogged, records);
        HibpTelemetry.AccessNotLogged(records);
    }

    [LoggerMessage(
        EventIds.AccessLogDown, LogLevel.Error,
        "access log: down; requests that must be logged get 503, others go unlogged once the buffer is full: {Reason}")]
    private partial void LogDown(string reason);

    [LoggerMessage(
        EventIds.AccessLogUp, LogLevel.Warning, "access log: up again; {Count} requests were not logged since the process started")]
    private partial void LogUp(long count);

    [LoggerMessage(
        EventIds.AccessLogFull, LogLevel.Warning,
        "access log: buffer full (store slower than the requests); {Count} requests were not logged since the process started")]
    private partial void LogFull(long count);

    [LoggerMessage(
        EventIds.AccessLogLost, LogLevel.Error,
        "access log: process ends; {Count} of the requests answered since it started may not be logged")]
    private partial void LogLost(long count);
}
