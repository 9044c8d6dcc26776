using System.Text.Json.Serialization;

namespace HibpIngest.Testing;

/// <summary>The assumptions of the spreading simulation: a file of numbers (spread.json), each with its source.</summary>
internal sealed record SpreadParameters(
    long Accounts, double HotShare, int LargeDomains, double LargeShare, int TailDomains, double PartitionRate, double AccountRate,
    double BurstSeconds, double LatencyMs, double EntityLatencyMs, double LatencySpread, double SlowShare, double SlowTimes,
    double RefusalMs, double BusyShare, double HeatSeconds, double HeatShare, double SplitSeconds, int Processes, int SlicesInFlight,
    int SliceRows, int TransactionsInFlight, double SlicePauseMs, int RebuildInFlight, long MergeMemoryBytes, int MergedAtOnce,
    double MergeNs, double HashNs)
{
    private static readonly JsonSerializerOptions Strict = new(JsonSerializerDefaults.Web)
    {
        RespectRequiredConstructorParameters = true,
        RespectNullableAnnotations = true,
        UnmappedMemberHandling = JsonUnmappedMemberHandling.Disallow,
    };

    public static string DefaultFile => RepositoryFile.Path("tests/HibpIngest.Testing/Simulation/spread.json");

    public TableLimits Limits => new()
    {
        PartitionRate = PartitionRate,
        AccountRate = AccountRate,
        BurstSeconds = BurstSeconds,
        Latency = TimeSpan.FromMilliseconds(LatencyMs),
        EntityLatency = TimeSpan.FromMilliseconds(EntityLatencyMs),
        RefusalLatency = TimeSpan.FromMilliseconds(RefusalMs),
    };

    /// <exception cref="JsonException">A parameter is missing, unknown, or without a source.</exception>
    public static SpreadParameters Read(string file)
    {
        var all = JsonSerializer.Deserialize<Dictionary<string, SpreadParameter>>(File.ReadAllText(file), Strict)!;
        if (all.FirstOrDefault(one => one.Value.Source.Length == 0).Key is { } unsourced)
            throw new JsonException($"{file}: {unsourced} has no source");
        return JsonSerializer.SerializeToElement(all.ToDictionary(one => one.Key, one => one.Value.Value))
            .Deserialize<SpreadParameters>(Strict)!;
    }
}

internal sealed record SpreadParameter(double Value, string Source);
