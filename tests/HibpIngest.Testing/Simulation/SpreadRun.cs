using HibpIngest.Storage.Azure.Tables;

namespace HibpIngest.Testing;

/// <summary>
/// Simulates one point: the transactions of <see cref="SpreadWork"/> go through the pipeline's throttle (<see
/// cref="WriteThrottle"/>, one for each process and storage account) to a simulated service, all in virtual time.
/// </summary>
/// <param name="scale">Simulates one of this many slices (or merged partitions), and divides by it the time that a partition must be
/// hot before it splits, and the time of a split. Results are multiplied to all accounts.</param>
internal sealed class SpreadRun(SpreadParameters parameters, SpreadPoint point, double scale, int seed)
{
    /// <summary>Slices that are made; they are reused in turn.</summary>
    private const int SlicesMade = 16;

    private readonly VirtualTime _time = new();
    private readonly Random _random = new(seed);
    private SpreadWork _work = null!;
    private SpreadService[] _services = [];
    private long[] _sent = []; // entities per partition
    private readonly List<TimeSpan>[] _doneAt = [.. Enumerable.Range(0, point.StorageAccounts).Select(_ => new List<TimeSpan>())];
    private readonly Dictionary<SpreadPartition, List<TimeSpan>> _partitionDoneAt = new(ReferenceEqualityComparer.Instance);
    private TimeSpan _hotUntil;
    private double _scale; // rounded to whole slices and merged partitions

    public SpreadResult Run()
    {
        _work = new SpreadWork(parameters, point);
        var transactions = point.IsRebuild ? _work.Rebuild(scale, _random) : _work.Slices(SlicesMade, _random);
        var slices = (int)(parameters.Accounts / scale / parameters.SliceRows);
        _scale = point.IsRebuild ? (double)_work.MergedPartitions / transactions.Count
            : (double)parameters.Accounts / slices / parameters.SliceRows;
        _services = [.. Enumerable.Range(0, point.StorageAccounts).Select(_ => new SpreadService(parameters, _scale, _time, _random))];
        _sent = new long[_work.Partitions.Count];
        _time.Run(() => point.IsRebuild ? RebuildAsync(transactions) : LoadAsync(transactions, slices));
        return Result();
    }

    private SpreadResult Result()
    {
        var limits = parameters.Limits;
        var all = _work.Partitions.Zip(_sent, (partition, entities) => (partition, entities)).ToList();
        var (fullest, ofFullest) = all.GroupBy(one => one.partition.StorageAccount, (account, some) =>
            (account, entities: some.Sum(one => one.entities))).MaxBy(one => one.entities);
        var (largest, ofLargest) = all.MaxBy(one => one.entities);
        var isPartitionBound = ofLargest / limits.PartitionRate > ofFullest / limits.AccountRate;
        var bound = TimeSpan.FromSeconds(Math.Max(ofFullest / limits.AccountRate, ofLargest / limits.PartitionRate));
        var hot = all.Where(one => one.partition.IsHot).Sum(one => one.entities);
        var (done, refused) = (_services.Sum(one => one.Done), _services.Sum(one => one.Refused));
        // The processes take as long as in a full run to find the allowed rate, so only the middle half is extrapolated.
        var doneAt = isPartitionBound ? _partitionDoneAt[largest] : _doneAt[fullest];
        var (quarter, threeQuarters) = (doneAt[doneAt.Count / 4], doneAt[doneAt.Count * 3 / 4]);
        return new SpreadResult(
            _time.Elapsed + ((_scale - 1) * 2 * (threeQuarters - quarter)), bound * _scale,
            hot / _hotUntil.TotalSeconds, (double)refused / (done + refused), _services.Sum(one => one.Splits), done);
    }

    private async Task LoadAsync(IReadOnlyList<SpreadTransaction[]> slices, int count)
    {
        var next = 0;
        var workers = new List<Task>();
        for (var process = 0; process < parameters.Processes; process++)
        {
            var throttles = Throttles();
            for (var i = 0; i < parameters.SlicesInFlight; i++)
                workers.Add(WorkAsync(throttles));
        }
        await Task.WhenAll(workers);

        async Task WorkAsync(WriteThrottle[] throttles)
        {
            while (next < count)
            {
                var slice = slices[next++ % slices.Count];
                await _time.PauseAsync(TimeSpan.FromMilliseconds(parameters.SlicePauseMs));
                await SendAsync(slice, parameters.TransactionsInFlight, throttles);
            }
        }
    }

    /// <summary>Works as RebuildLayout does: a merged partition is made, then written, then the next one; or several overlap.</summary>
    private async Task RebuildAsync(IReadOnlyList<SpreadTransaction[]> merged)
    {
        var throttles = Throttles();
        var steps = parameters.MergedAtOnce > 1 ? [[.. merged.SelectMany(one => one)]] : merged;
        foreach (var transactions in steps)
        {
            if (parameters.MergedAtOnce == 1)
            {
                var accounts = transactions.Where(one => !_work.Partitions[one.Partition].IsRange).Sum(one => one.Entities);
                await _time.PauseAsync(TimeSpan.FromSeconds(
                    accounts * (parameters.MergeNs + (point.WithRanges ? parameters.HashNs : 0)) / 1e9));
            }
            var next = 0;
            await Task.WhenAll(Enumerable.Range(0, parameters.RebuildInFlight * point.StorageAccounts).Select(_ => WorkAsync()));

            async Task WorkAsync()
            {
                while (next < transactions.Length)
                    await SendOneAsync(transactions[next++], null, throttles);
            }
        }
    }

    private WriteThrottle[] Throttles() => [.. _services.Select(_ => new WriteThrottle(_time))];

    /// <summary>Sends as SliceRun does.</summary>
    private async Task SendAsync(SpreadTransaction[] transactions, int limit, WriteThrottle[] throttles)
    {
        var inFlight = new TransactionsInFlight(limit, CancellationToken.None);
        var open = 1;
        var ended = new TaskCompletionSource();
        foreach (var transaction in transactions)
        {
            await inFlight.EnterAsync();
            open++;
            _ = TransactAsync(transaction);
        }
        End();
        await ended.Task;

        async Task TransactAsync(SpreadTransaction transaction)
        {
            try
            {
                await SendOneAsync(transaction, inFlight, throttles);
                inFlight.Leave();
                End();
            }
            catch (Exception e)
            {
                ended.TrySetException(e);
            }
        }

        void End()
        {
            if (--open == 0)
                ended.TrySetResult();
        }
    }

    private async Task SendOneAsync(SpreadTransaction transaction, TransactionsInFlight? inFlight, WriteThrottle[] throttles)
    {
        var (number, entities) = transaction;
        var partition = _work.Partitions[number];
        var service = _services[partition.StorageAccount];
        if (point.IsHasty)
        {
            while (await service.SendAsync(number, entities) is not null)
            {
                // Repeats at once.
            }
        }
        else
        {
            var throttle = throttles[partition.StorageAccount];
            await (inFlight is null
                ? throttle.SendWithoutTimeoutAsync(
                    partition.Table, partition.Key, entities, () => service.SendAsync(number, entities), CancellationToken.None)
                : throttle.SendAsync(partition.Table, partition.Key, entities, inFlight, () => service.SendAsync(number, entities)));
        }
        _sent[number] += entities;
        _doneAt[partition.StorageAccount].Add(_time.Elapsed);
        if (!_partitionDoneAt.TryGetValue(partition, out var doneAt))
            _partitionDoneAt.Add(partition, doneAt = []);
        doneAt.Add(_time.Elapsed);
        if (partition.IsHot)
            _hotUntil = _time.Elapsed;
    }
}

/// <param name="StorageAccounts">N.</param>
/// <param name="Partitions">M: the partitions of the largest domain.</param>
internal sealed record SpreadPoint(int StorageAccounts, int Partitions, bool WithRanges, bool IsRebuild)
{
    public const int MaxStorageAccounts = 10;
    public const int MaxPartitions = 32;

    /// <summary>The published limit: requirements don't change with the parameters.</summary>
    private const double PartitionRate = 2_000;
    private const double LeastRate = 0.85;
    private const double MaxRefused = 0.2;
    private const double MaxRate = 1.02;
    private static readonly TimeSpan MaxTime = TimeSpan.FromMinutes(20);
    private static readonly TimeSpan MaxTimeWithRanges = TimeSpan.FromMinutes(25);

    /// <summary>Fault check: everything goes to the first storage account, whatever the layout says.</summary>
    public bool IsOneAccount { get; init; }

    /// <summary>Fault check: refused transactions are repeated at once.</summary>
    public bool IsHasty { get; init; }

    /// <summary>True if there is a requirement: N=10 with M=32, and M=1.</summary>
    public bool IsDemanded => StorageAccounts == MaxStorageAccounts && Partitions is MaxPartitions or 1;

    public IEnumerable<string> FaultsOf(SpreadResult result)
    {
        if (StorageAccounts == MaxStorageAccounts && Partitions == MaxPartitions)
        {
            var limit = WithRanges ? MaxTimeWithRanges : MaxTime;
            if (result.Rate < LeastRate)
                yield return $"{this}: expected {LeastRate:P0} of the bound, found {result.Rate:P1}";
            if (result.Time > limit)
                yield return $"{this}: expected {limit.TotalMinutes:F0} minutes at most, found {result.Time.TotalMinutes:F1}";
            if (result.Refused > MaxRefused)
                yield return $"{this}: expected {MaxRefused:P0} of the requests refused at most, found {result.Refused:P1}";
        }
        if (Partitions == 1 && result.HotRate / PartitionRate is < LeastRate or > MaxRate)
            yield return $"{this}: expected {PartitionRate:N0} entities/s into the largest domain, found {result.HotRate:N0}";
    }

    public override string ToString() =>
        $"{(IsRebuild ? "rebuild" : "load")}, N={StorageAccounts}, M={Partitions}, ranges {(WithRanges ? "on" : "off")}";
}

/// <param name="Time">Duration for all accounts.</param>
/// <param name="Bound">The least time that the published limits allow, for the fullest account or the largest
/// partition.</param>
/// <param name="HotRate">Entities/s that the hot domain took over all its partitions until it was complete.</param>
internal sealed record SpreadResult(TimeSpan Time, TimeSpan Bound, double HotRate, double Refused, int Splits, long Transactions)
{
    /// <summary>Speed relative to the limits.</summary>
    public double Rate => Bound / Time;
}
