namespace HibpIngest.Testing;

/// <summary>The assumptions of the spreading simulation: a file of numbers (spread.json), each with its source.</summary>
internal sealed class SpreadParameters
{
    private readonly Dictionary<string, SpreadParameter> _all;

    private SpreadParameters(Dictionary<string, SpreadParameter> all) => _all = all;

    public long Accounts => (long)this["accounts"];

    public double HotShare => this["hotShare"];

    public int LargeDomains => (int)this["largeDomains"];

    public double LargeShare => this["largeShare"];

    public int TailDomains => (int)this["tailDomains"];

    public TableLimits Limits => new()
    {
        PartitionRate = this["partitionRate"],
        AccountRate = this["accountRate"],
        BurstSeconds = this["burstSeconds"],
        Latency = Milliseconds("latencyMs"),
        RefusalLatency = Milliseconds("refusalMs"),
    };

    public TimeSpan EntityLatency => Milliseconds("entityLatencyMs");

    public double LatencySpread => this["latencySpread"];

    public double SlowShare => this["slowShare"];

    public double SlowTimes => this["slowTimes"];

    public double BusyShare => this["busyShare"];

    public TimeSpan Heat => TimeSpan.FromSeconds(this["heatSeconds"]);

    public double HeatShare => this["heatShare"];

    public TimeSpan Split => TimeSpan.FromSeconds(this["splitSeconds"]);

    public int Processes => (int)this["processes"];

    public int SlicesInFlight => (int)this["slicesInFlight"];

    public int SliceRows => (int)this["sliceRows"];

    public int TransactionsInFlight => (int)this["transactionsInFlight"];

    public TimeSpan SlicePause => Milliseconds("slicePauseMs");

    public int RebuildInFlight => (int)this["rebuildInFlight"];

    public int MergedAtOnce => (int)this["mergedAtOnce"];

    public double MergeSeconds => this["mergeNs"] / 1e9;

    public double HashSeconds => this["hashNs"] / 1e9;

    public long MergeMemoryBytes => (long)this["mergeMemoryBytes"];

    public static string DefaultFile => RepositoryFile.Path("tests/HibpIngest.Testing/Simulation/spread.json");

    private double this[string name] => _all[name].Value;

    /// <exception cref="InvalidOperationException">A parameter is missing, unknown, or without a source.</exception>
    public static SpreadParameters Read(string file)
    {
        var all = JsonSerializer.Deserialize<Dictionary<string, SpreadParameter>>(File.ReadAllText(file), JsonSerializerOptions.Web)!;
        string[] names =
        [
            "accounts", "hotShare", "largeDomains", "largeShare", "tailDomains", "partitionRate", "accountRate",
            "burstSeconds", "latencyMs", "entityLatencyMs", "latencySpread", "slowShare", "slowTimes", "refusalMs",
            "busyShare", "heatSeconds", "heatShare", "splitSeconds", "processes", "slicesInFlight", "sliceRows",
            "transactionsInFlight", "slicePauseMs", "rebuildInFlight", "mergeMemoryBytes", "mergedAtOnce", "mergeNs",
            "hashNs",
        ];
        var wrong = names.Except(all.Keys).Select(name => $"{name} is missing").Concat(all.Keys.Except(names).Select(
            name => $"{name} is unknown")).Concat(all.Where(one => one.Value.Source.Length == 0).Select(one => $"{one.Key} has no source"))
            .ToList();
        return wrong.Count == 0 ? new SpreadParameters(all)
            : throw new InvalidOperationException($"{file}: expected each parameter with its source, found: {string.Join(", ", wrong)}");
    }

    public SpreadParameters With(string name, double value) => new(new(_all) { [name] = new SpreadParameter(value, "command line") });

    private TimeSpan Milliseconds(string name) => TimeSpan.FromMilliseconds(this[name]);
}

internal sealed record SpreadParameter(double Value, string Source);
