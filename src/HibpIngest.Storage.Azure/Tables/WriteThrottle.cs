namespace HibpIngest.Storage.Azure.Tables;

/// <summary>
/// Paces this process's writes to the mark tables: a <see cref="WriteLane"/> for each partition being written to, and one for the whole
/// account, which a removal's reads pass too. A busy partition delays no other. Holds no keys: partitions are identified by a hash, and
/// two with the same hash share a lane.
/// </summary>
/// <param name="maxInFlight">Fixed limit of transactions in flight over all partitions; null if the limit follows the latency.</param>
internal sealed class WriteThrottle(TimeProvider time, int? maxInFlight = null) : IDisposable
{
    // Initial limit per partition, which grows by one for each completed transaction. Enough for a distant service, and few enough that
    // the refusals of a busy partition don't matter.
    private const int FirstInFlight = 8;

    // Unexpected refusals of this many partitions within SurprisesWithin mean that the account is busy: the service's
    // response is the same for a busy partition and a busy account.
    private const int SurprisesOfTheAccount = 4;
    private static readonly TimeSpan SurprisesWithin = TimeSpan.FromSeconds(1);

    private static readonly TimeSpan ForgottenAfter = TimeSpan.FromMinutes(1);

    /// <summary>Busy partitions remembered, a few hundred bytes each; beyond that, those not being written to are forgotten.</summary>
    private const int MaxPartitions = 1_024;

    /// <summary>Minimum cost of a request, which is not free however few entities it has.</summary>
    private const int MinCost = 5;

    private readonly Lock _lock = new();
    private readonly Dictionary<int, Partition> _partitions = [];
    private readonly WriteLane _all = new(0, time, new InFlightLimit(time, maxInFlight));
    private int _surprises;
    private long _surprisesSince;
    private long? _accountBusyAt;

    /// <param name="table">The partition's table: tables don't wait for one another.</param>
    /// <exception cref="StoreThrottledException">The wait was cancelled.</exception>
    public async Task SendAsync(
        string table, ReadOnlyMemory<byte> partitionKey, int entities, TransactionsInFlight inFlight, Func<Task<WriteRefusal?>> send)
    {
        var cost = Math.Max(entities, MinCost);
        var key = KeyOf(table, partitionKey.Span);
        var partition = Acquire(key);
        WriteRefusal? refused = null;
        try
        {
            while (true)
            {
                var waited = await EnterAsync(partition.Lane, cost, refused is not null, inFlight) && partition.Lane.IsThrottled;
                if (refused is not null)
                    StorageTelemetry.Retries.Add(1);
                refused = await SendOnceAsync(partition, cost, waited, inFlight, send);
                if (refused is null)
                    return;
            }
        }
        catch (OperationCanceledException) when (inFlight.StopWaiting.IsCancellationRequested)
        {
            throw refused?.Failure ?? new StoreThrottledException(
                $"upsert of {entities} accounts was not sent in time: writes to its partition, or to the storage account, are throttled");
        }
        finally
        {
            Release(key, partition);
        }
    }

    public async Task SendWithoutTimeoutAsync(
        string table, ReadOnlyMemory<byte> partitionKey, int entities, Func<Task<WriteRefusal?>> send, CancellationToken cancellationToken)
    {
        var inFlight = new TransactionsInFlight(1, cancellationToken);
        await inFlight.EnterAsync();
        try
        {
            await SendAsync(table, partitionKey, entities, inFlight, send);
        }
        catch (StoreThrottledException)
        {
            cancellationToken.ThrowIfCancellationRequested();
            throw;
        }
    }

    /// <summary>
    /// Sends a request of another kind in the account's turn: a removal reads and writes account by account, and would otherwise have over
    /// a hundred requests in flight.
    /// </summary>
    public async Task<T> InTurnAsync<T>(Func<Task<T>> request, CancellationToken cancellationToken)
    {
        await _all.EnterAsync(MinCost, first: false, cancellationToken);
        var sentAt = time.GetTimestamp();
        try
        {
            var response = await request();
            _all.Done(MinCost, sentAt);
            return response;
        }
        catch
        {
            _all.Abandoned();
            throw;
        }
    }

    public void Lost(long sentAt) => _all.Lost(sentAt);

    public void Dispose()
    {
        lock (_lock)
        {
            foreach (var partition in _partitions.Values)
                partition.Lane.Dispose();
            _partitions.Clear();
        }
        _all.Dispose();
    }

    /// <returns>True if it had to wait.</returns>
    private static async Task<bool> EnterAsync(WriteLane lane, int cost, bool again, TransactionsInFlight inFlight)
    {
        var turn = lane.EnterAsync(cost, first: again, inFlight.StopWaiting);
        if (turn.IsCompletedSuccessfully)
            return false;
        await inFlight.StepAsideAsync(turn);
        return true;
    }

    private async Task<WriteRefusal?> SendOnceAsync(
        Partition partition, int cost, bool waited, TransactionsInFlight inFlight, Func<Task<WriteRefusal?>> send)
    {
        var entered = false;
        var ended = false;
        var admittedAt = time.GetTimestamp();
        try
        {
            // A transaction that waits for the account keeps its place, since all wait for the same. One that has waited for its partition
            // goes first: a busy partition takes longest and must not stand idle.
            await _all.EnterAsync(cost, first: waited, inFlight.StopWaiting);
            entered = true;
            var sentAt = time.GetTimestamp();
            var refused = await send();
            ended = true;
            if (refused is null)
            {
                partition.Lane.Done(cost, sentAt);
                _all.Done(cost, sentAt);
                return null;
            }
            // A busy account refuses everything: a partition that is already paced by a rate is not the cause, and one that isn't paced
            // stays so.
            var busy = IsAccountBusy();
            if (busy && !partition.Lane.IsThrottled)
                partition.Lane.Abandoned();
            else
                partition.Lane.Refused(cost, admittedAt, refused.Pause, cut: !waited || !busy);
            if ((!waited || busy) && IsOneOfSeveral(partition))
                _all.Refused(cost, sentAt, refused.Pause, cut: true);
            else
                _all.Abandoned();
            return refused;
        }
        finally
        {
            if (!ended)
            {
                partition.Lane.Abandoned();
                if (entered)
                    _all.Abandoned();
            }
        }
    }

    private bool IsAccountBusy()
    {
        lock (_lock)
            return _accountBusyAt is { } at && time.GetElapsedTime(at) < SurprisesWithin;
    }

    /// <summary>Counts the refusal of a partition that wasn't known to be busy, or that came while the account was busy.</summary>
    /// <returns>True if it is one of several, which means that the account is busy.</returns>
    private bool IsOneOfSeveral(Partition partition)
    {
        lock (_lock)
        {
            var now = time.GetTimestamp();
            if (time.GetElapsedTime(_surprisesSince, now) > SurprisesWithin)
                (_surprises, _surprisesSince) = (0, now);
            if (partition.SurprisedAt is { } before && before >= _surprisesSince)
                return false;
            partition.SurprisedAt = now;
            if (++_surprises < SurprisesOfTheAccount)
                return false;
            (_surprises, _surprisesSince, _accountBusyAt) = (0, now, now);
            return true;
        }
    }

    private static int KeyOf(string table, ReadOnlySpan<byte> partitionKey)
    {
        var hash = new HashCode();
        hash.Add(table);
        hash.AddBytes(partitionKey);
        return hash.ToHashCode();
    }

    private Partition Acquire(int key)
    {
        lock (_lock)
        {
            if (_partitions.TryGetValue(key, out var partition) && partition.Users == 0
                && time.GetElapsedTime(partition.LeftAt) > ForgottenAfter)
            {
                Forget(key, partition);
                partition = null;
            }
            if (partition is null)
            {
                if (_partitions.Count >= MaxPartitions)
                    ForgetUnused();
                _partitions.Add(key, partition = new Partition(new WriteLane(FirstInFlight, time)));
            }
            partition.Users++;
            return partition;
        }
    }

    private void Release(int key, Partition partition)
    {
        lock (_lock)
        {
            partition.LeftAt = time.GetTimestamp();
            if (--partition.Users == 0 && !partition.Lane.IsThrottled)
                Forget(key, partition);
        }
    }

    private void ForgetUnused()
    {
        foreach (var (key, partition) in _partitions.Where(one => one.Value.Users == 0).ToList())
            Forget(key, partition);
    }

    private void Forget(int key, Partition partition)
    {
        _partitions.Remove(key);
        partition.Lane.Dispose();
    }

    private sealed class Partition(WriteLane lane)
    {
        public WriteLane Lane => lane;

        public int Users { get; set; }

        public long LeftAt { get; set; }

        public long? SurprisedAt { get; set; }
    }
}
