namespace HibpIngest.Testing;

internal sealed record TableLimits
{
    /// <summary>Entities per second and partition (learn.microsoft.com/azure/storage/tables/scalability-targets).</summary>
    public double PartitionRate { get; init; } = 2_000;

    public double AccountRate { get; init; } = 20_000;

    /// <summary>The only partition with a limit; null: all have one.</summary>
    public string? OnlyPartition { get; init; }

    /// <summary>The burst after a pause, in seconds of the rate. The service doesn't document it; less is harder on the writer.</summary>
    public double BurstSeconds { get; init; } = 0.5;

    public TimeSpan Latency { get; init; } = TimeSpan.FromMilliseconds(5);

    /// <summary>Additional latency of a transaction for each of its entities.</summary>
    public TimeSpan EntityLatency { get; init; }

    public TimeSpan RefusalLatency { get; init; }
}

/// <summary>One storage account's token buckets, for itself and for each partition. A refused write takes from neither.</summary>
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

    /// <summary>Fills at its rate, up to the burst.</summary>
    private sealed class Bucket(double rate, double burstSeconds, TimeProvider time)
    {
        // A transaction of 100 must fit.
        private readonly double _limit = Math.Max(rate * burstSeconds, 100);
        private double _tokens = Math.Max(rate * burstSeconds, 100);
        private long _at = time.GetTimestamp();

        public bool Has(int entities)
        {
            var now = time.GetTimestamp();
            _tokens = Math.Min(_limit, _tokens + (rate * time.GetElapsedTime(_at, now).TotalSeconds));
            _at = now;
            return _tokens >= entities;
        }

        public void Take(int entities) => _tokens -= entities;
    }
}
