namespace HibpIngest.Benchmarks;

/// <summary>
/// The limits of one storage account's tables: a token bucket for each partition and one for the account. A write
/// that finds either one empty is refused, and takes from neither.
/// </summary>
/// <typeparam name="TPartition">Identifies a partition.</typeparam>
internal sealed class TableModel<TPartition>(TableLimits limits, TimeProvider time)
    where TPartition : notnull
{
    private readonly Dictionary<TPartition, Bucket> _partitions = [];
    private readonly Bucket _account = new(limits.AccountRate, limits.BurstSeconds, time);
    private readonly Lock _lock = new();

    /// <summary>Takes this many entities for a partition; returns false if the limits don't allow it now.</summary>
    public bool Take(TPartition partition, int entities)
    {
        lock (_lock)
        {
            if (!_partitions.TryGetValue(partition, out var bucket))
                _partitions.Add(partition, bucket = new Bucket(limits.PartitionRate, limits.BurstSeconds, time));
            if (!bucket.Has(entities) || !_account.Has(entities))
                return false;
            bucket.Take(entities);
            _account.Take(entities);
            return true;
        }
    }

    /// <summary>Returns the entities that a partition has taken.</summary>
    public long TakenBy(TPartition partition)
    {
        lock (_lock)
            return _partitions.TryGetValue(partition, out var bucket) ? bucket.Taken : 0;
    }

    /// <summary>Fills at its rate, up to the burst.</summary>
    private sealed class Bucket(double rate, double burstSeconds, TimeProvider time)
    {
        private readonly double _most = Math.Max(rate * burstSeconds, 100);
        private double _tokens = Math.Max(rate * burstSeconds, 100);
        private long _at = time.GetTimestamp();

        public long Taken { get; private set; }

        public bool Has(int entities)
        {
            var now = time.GetTimestamp();
            _tokens = Math.Min(_most, _tokens + (rate * time.GetElapsedTime(_at, now).TotalSeconds));
            _at = now;
            return _tokens >= entities;
        }

        public void Take(int entities)
        {
            _tokens -= entities;
            Taken += entities;
        }
    }
}
