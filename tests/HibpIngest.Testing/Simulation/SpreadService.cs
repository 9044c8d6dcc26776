using HibpIngest.Storage.Azure.Tables;

namespace HibpIngest.Testing;

/// <summary>The simulated table service of one storage account, in virtual time.</summary>
/// <param name="scale">Divides the times of heat and splits, as in the whole run.</param>
internal sealed class SpreadService(SpreadParameters parameters, double scale, VirtualTime time, Random random)
{
    private const int HeatSteps = 10;
    private static readonly WriteRefusal Busy = new(new StoreThrottledException("the simulated service is busy"), TimeSpan.Zero);

    private readonly TableLimits _limits = parameters.Limits;
    private readonly TableModel<int> _tables = new(parameters.Limits, time);
    private readonly Dictionary<int, Heat> _heat = [];
    private readonly double _heatStep = parameters.HeatSeconds / scale / HeatSteps;

    public long Done { get; private set; }

    public long Refused { get; private set; }

    public int Splits { get; private set; }

    /// <returns>Null if it succeeded.</returns>
    public async Task<WriteRefusal?> SendAsync(int partition, int entities)
    {
        if (random.NextDouble() < parameters.BusyShare || IsSplitting(partition) || !_tables.Take(partition, entities))
        {
            Refused++;
            await time.PauseAsync(_limits.RefusalLatency);
            return Busy;
        }
        Warm(partition, entities);
        Done++;
        var latency = (_limits.Latency + (entities * _limits.EntityLatency))
            * (1 + (parameters.LatencySpread * ((2 * random.NextDouble()) - 1)));
        await time.PauseAsync(random.NextDouble() < parameters.SlowShare ? latency * parameters.SlowTimes : latency);
        return null;
    }

    private bool IsSplitting(int partition) => _heat.TryGetValue(partition, out var heat) && time.Elapsed < heat.SplitUntil;

    /// <summary>A partition heats up in steps, and must have taken its share at each.</summary>
    private void Warm(int partition, int entities)
    {
        if (!_heat.TryGetValue(partition, out var heat))
            _heat.Add(partition, heat = new Heat());
        if (heat.IsSplit)
            return;
        var step = (int)(time.Elapsed.TotalSeconds / _heatStep);
        if (step != heat.Step)
        {
            var isHot = heat.Taken >= parameters.HeatShare * _limits.PartitionRate * _heatStep;
            heat.HotSteps = isHot && step == heat.Step + 1 ? heat.HotSteps + 1 : 0;
            (heat.Step, heat.Taken) = (step, 0);
            if (heat.HotSteps == HeatSteps)
            {
                heat.IsSplit = true;
                heat.SplitUntil = time.Elapsed + TimeSpan.FromSeconds(parameters.SplitSeconds / scale);
                Splits++;
            }
        }
        heat.Taken += entities;
    }

    private sealed class Heat
    {
        public int Step { get; set; }

        public long Taken { get; set; }

        public int HotSteps { get; set; }

        public bool IsSplit { get; set; }

        public TimeSpan SplitUntil { get; set; }
    }
}
