using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.AzureStorage.Tables;

/// <summary>
/// Lets this process's writes into the tables of marks go as fast as the service takes them: a
/// <see cref="WriteLane"/> for each partition that is being written to, and one for all of them together, which a removal's
/// reads go through as well. A partition that is busy keeps no other waiting. It holds no key: partitions are told apart by a hash, and two
/// of the same one share their lane.
/// </summary>
/// <param name="mostInFlight">Transactions in flight of all partitions together, whatever happens; null: as many as answers allow.</param>
internal sealed class WriteThrottle(TimeProvider time, int? mostInFlight = null) : IDisposable
{
    /// <summary>
    /// At first; each one that is done lets one more go. Enough for a partition that is far away, few enough
    /// that those which find it busy don't count.
    /// </summary>
    private const int FirstInFlight = 8;

    /// <summary>
    /// Partitions that were not expected to be refused, within <see cref="SurprisesWithin"/>: then it is the
    /// account that is busy. The service answers the same for both.
    /// </summary>
    private const int SurprisesOfTheAccount = 4;
    private static readonly TimeSpan SurprisesWithin = TimeSpan.FromSeconds(1);

    /// <summary>What a partition took so long ago says nothing of what it takes.</summary>
    private static readonly TimeSpan KeptFor = TimeSpan.FromMinutes(1);

    /// <summary>
    /// Busy partitions that are remembered, a few hundred bytes each; past them, those that nobody writes to
    /// just now are forgotten.
    /// </summary>
    private const int KeptAtMost = 1_024;

    /// <summary>A request costs the service something however few entities it has.</summary>
    private const int LeastEntities = 5;

    private readonly Lock _lock = new();
    private readonly Dictionary<int, Partition> _partitions = [];
    private readonly WriteLane _all = new(new InFlightLimit(time, mostInFlight), time);
    private int _surprises;
    private long _surprisesSince;
    private long? _accountBusyAt;

    /// <summary>Sends until it is done: again, in its turn, whenever it was refused.</summary>
    /// <param name="table">Whose partition it is: no table waits for another one's.</param>
    /// <param name="send">Null: done.</param>
    /// <exception cref="StoreThrottledException">The wait was ended first.</exception>
    public async Task SendAsync(
        string table, ReadOnlyMemory<byte> partitionKey, int entities, TransactionsInFlight inFlight, Func<Task<WriteRefusal?>> send)
    {
        var cost = Math.Max(entities, LeastEntities);
        var key = KeyOf(table, partitionKey.Span);
        var partition = Take(key);
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
            throw refused?.Failure ?? new StoreThrottledException($"upsert of {entities} accounts has waited for its turn and not had it");
        }
        finally
        {
            GiveBack(key, partition);
        }
    }

    /// <summary>The same by itself, however long its turn is in coming.</summary>
    public async Task SendPatientlyAsync(
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
    /// Sends a request of another kind in the account's turn: a removal reads and writes account by account, with over a hundred
    /// requests in flight otherwise.
    /// </summary>
    public async Task<T> InTurnAsync<T>(Func<Task<T>> request, CancellationToken cancellationToken)
    {
        await _all.EnterAsync(LeastEntities, first: false, cancellationToken);
        var sentAt = time.GetTimestamp();
        var ended = false;
        try
        {
            var answer = await request();
            ended = true;
            _all.Done(LeastEntities, sentAt);
            return answer;
        }
        finally
        {
            if (!ended)
                _all.GaveUp();
        }
    }

    /// <summary>A request to the account had no answer: its connection was refused, timed out or broke.</summary>
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

    /// <summary>Returns whether it had to wait.</summary>
    private static async Task<bool> EnterAsync(WriteLane lane, int cost, bool again, TransactionsInFlight inFlight)
    {
        var turn = lane.EnterAsync(cost, first: again, inFlight.StopWaiting);
        if (turn.IsCompletedSuccessfully)
            return false;
        var aside = inFlight.TryStepAside();
        try
        {
            await turn;
        }
        finally
        {
            if (aside)
                inFlight.ComeBack();
        }
        return true;
    }

    private async Task<WriteRefusal?> SendOnceAsync(
        Partition partition, int cost, bool waited, TransactionsInFlight inFlight, Func<Task<WriteRefusal?>> send)
    {
        var entered = false;
        var ended = false;
        try
        {
            // Whoever waits for the account keeps its place: all wait for the same. What has waited for its
            // partition goes before the others: a busy one takes longest, and must not stand idle.
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
            // While the account is busy it refuses whatever comes: a partition that goes at a rate of its own
            // is not to blame for that.
            var busy = IsAccountBusy();
            partition.Lane.Refused(cost, sentAt, refused.Pause, cut: !waited || !busy);
            if ((!waited || busy) && IsOneOfSeveral(partition))
                _all.Refused(cost, sentAt, refused.Pause, cut: true);
            else
                _all.GaveUp();
            return refused;
        }
        finally
        {
            if (!ended)
            {
                partition.Lane.GaveUp();
                if (entered)
                    _all.GaveUp();
            }
        }
    }

    private bool IsAccountBusy()
    {
        lock (_lock)
            return _accountBusyAt is { } at && time.GetElapsedTime(at) < SurprisesWithin;
    }

    /// <summary>
    /// A partition was refused that was not known to be busy, or while the account was: is it one of several?
    /// Then the account is busy.
    /// </summary>
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

    private Partition Take(int key)
    {
        lock (_lock)
        {
            if (_partitions.TryGetValue(key, out var partition) && partition.Users == 0 && time.GetElapsedTime(partition.LeftAt) > KeptFor)
            {
                Forget(key, partition);
                partition = null;
            }
            if (partition is null)
            {
                if (_partitions.Count >= KeptAtMost)
                    ForgetUnused();
                _partitions.Add(key, partition = new Partition(new WriteLane(FirstInFlight, time)));
            }
            partition.Users++;
            return partition;
        }
    }

    private void GiveBack(int key, Partition partition)
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

        /// <summary>Transactions that go this way, or wait to.</summary>
        public int Users { get; set; }

        public long LeftAt { get; set; }

        public long? SurprisedAt { get; set; }
    }
}
