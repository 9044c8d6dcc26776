namespace HibpIngest.Cli.TableBench;

internal sealed record BenchAdvice(string Setting, string Reason);

internal sealed record BenchComparison(string What, string Published, string Measured, string Verdict);

/// <summary>Derives what a run says about settings, and how it relates to what was published about Table Storage.</summary>
internal sealed class BenchFindings(IReadOnlyList<BenchResult> results, bool isEmulator, int transactionsInFlight)
{
    public const string InFlightSetting = "HIBP_TRANSACTIONSINFLIGHT";

    /// <summary>The service's limit of a partition, in entities a second.</summary>
    private const int PartitionLimit = 2_000;

    /// <summary>The service's limit of a storage account, in entities a second.</summary>
    private const int AccountLimit = 20_000;

    private const int MaxSpread = 256;

    /// <summary>The part of the best throughput from which on more in flight isn't worth it; differences below are noise.</summary>
    private const double Enough = 0.9;

    /// <summary>From here on, this machine may have been the limit.</summary>
    private const double BusyCpu = 0.8;

    private const double AtLimit = 0.9;

    /// <summary>Figures that differ by less are the same: a measurement takes seconds.</summary>
    private const double Noise = 1.5;

    public IReadOnlyList<BenchAdvice> Advise()
    {
        var advice = new List<BenchAdvice>();
        var transactions = Series(BenchOperation.Insert, BenchPlan.MaxRows, BenchPlan.Many);
        if (Best(transactions) is not { EntitiesPerSecond: > 0 } best)
            return advice;
        advice.Add(AdviseInFlight(transactions, best));
        if (isEmulator)
        {
            advice.Add(new BenchAdvice("layouts", "none follows: the emulator has no limits for partitions and accounts"));
            return advice;
        }
        var one = Best(Series(BenchOperation.Insert, BenchPlan.MaxRows, 1));
        advice.Add(AdviseSpread(one, best));
        advice.Add(AdviseAccounts(best));
        return advice;
    }

    public IReadOnlyList<BenchComparison> Compare()
    {
        var one = Best(Series(BenchOperation.Insert, BenchPlan.MaxRows, 1));
        var many = Best(Series(BenchOperation.Insert, BenchPlan.MaxRows, BenchPlan.Many));
        var comparison = new List<BenchComparison>();
        Latency("single insert", Alone(BenchOperation.Insert, 1), "tens of ms", 10);
        Latency("point read", Alone(BenchOperation.Read, 1), "tens of ms", 10);
        Latency("transaction of 100", Alone(BenchOperation.Insert, BenchPlan.MaxRows), "hundreds of ms", 100);
        if (one is not { EntitiesPerSecond: > 0 } || many is null)
            return comparison;
        comparison.Add(new BenchComparison(
            "one partition", $"{Number(PartitionLimit)} entities/s", $"{Rate(one)} entities/s",
            one.EntitiesPerSecond > PartitionLimit * Noise ? "higher"
            : one.EntitiesPerSecond < PartitionLimit / Noise ? "lower" : "as published"));
        // Linear up to the limit of the account: ten full partitions.
        var growth = many.EntitiesPerSecond / one.EntitiesPerSecond;
        comparison.Add(new BenchComparison(
            $"{BenchPlan.Many} partitions", $"grows linearly, to {Number(AccountLimit)} entities/s",
            string.Create(CultureInfo.InvariantCulture, $"{Rate(many)} entities/s, {growth:0.0} times one partition"),
            many.EntitiesPerSecond >= AccountLimit * AtLimit ? "as published"
            : growth > Noise ? "grows, to a lower limit" : "doesn't grow"));
        return comparison;

        void Latency(string what, BenchResult? result, string published, double from)
        {
            if (result is not { Entities: > 0 })
                return;
            var time = result.Times.P50;
            comparison.Add(new BenchComparison(
                $"{what}, p50", published, string.Create(CultureInfo.InvariantCulture, $"{time:0.0} ms"),
                time < from ? "faster" : time >= from * 10 ? "slower" : "as published"));
        }
    }

    public string? FindBusyCpu() => results.Count(result => result.Cpu >= BusyCpu) is > 0 and var busy
        ? $"this process used over 80% of this machine's CPU in {busy} of {results.Count} measurements: they show the machine's "
            + "limits, not the account's"
        : null;

    private BenchAdvice AdviseInFlight(IReadOnlyList<BenchResult> series, BenchResult best)
    {
        var enough = series.First(result => result.EntitiesPerSecond >= best.EntitiesPerSecond * Enough);
        var current = series.FirstOrDefault(result => result.Cell.InFlight == transactionsInFlight);
        var reached = $"{enough.Cell.InFlight} in flight reached {Rate(enough)} entities/s"
            + (best == enough ? ", the best of all" : $"; the best of all was {Rate(best)}, with {best.Cell.InFlight}");
        return enough.Cell.InFlight <= transactionsInFlight
            ? new BenchAdvice($"{InFlightSetting}={transactionsInFlight}", $"keep it: {reached}")
            : new BenchAdvice(
                $"{InFlightSetting}={enough.Cell.InFlight}",
                reached + (current is null ? "" : $"; {transactionsInFlight} in flight, as configured, reached {Rate(current)}"));
    }

    private static BenchAdvice AdviseSpread(BenchResult? one, BenchResult many)
    {
        const string Spread = "hibp layout rebuild --spread";
        if (one is not { EntitiesPerSecond: > 0 } || many.EntitiesPerSecond < one.EntitiesPerSecond * Noise)
            return new BenchAdvice(Spread, $"not needed: one partition took as much as {BenchPlan.Many}");
        var partitions = Math.Min((int)Math.Ceiling(many.EntitiesPerSecond / one.EntitiesPerSecond), MaxSpread);
        return new BenchAdvice(
            $"{Spread} DOMAIN={partitions}",
            $"for a domain with a large part of all accounts: one partition took {Rate(one)} entities/s, {BenchPlan.Many} took "
            + Rate(many));
    }

    private static BenchAdvice AdviseAccounts(BenchResult many)
    {
        var measured = $"{Rate(many)} entities/s into {BenchPlan.Many} partitions";
        return many.EntitiesPerSecond >= AccountLimit * AtLimit
            ? new BenchAdvice(
                "HIBP_STORAGE_2, hibp layout rebuild --accounts 1,2",
                $"{measured} are the limit of a storage account ({Number(AccountLimit)} published); a layout over several has several "
                + "times it")
            : many.Throttled > 0
            ? new BenchAdvice(
                "hibp bench tables --seconds 30",
                $"{measured}, with {Number(many.Throttled)} requests throttled, below the limit of a storage account "
                + $"({Number(AccountLimit)} published): the service spreads the partitions of a new table only under load that lasts")
            : new BenchAdvice(
                "HIBP_STORAGE_2", $"not needed: {measured} were not throttled, and are below the limit of a storage account "
                + $"({Number(AccountLimit)} published)");
    }

    private BenchResult? Alone(BenchOperation operation, int rows) =>
        Series(operation, rows, 1).FirstOrDefault(result => result.Cell.InFlight == 1);

    private IReadOnlyList<BenchResult> Series(BenchOperation operation, int rows, int partitions) =>
        [.. results.Where(result => result.Cell.Series == (operation, rows, partitions))];

    private static BenchResult? Best(IEnumerable<BenchResult> series) => series.MaxBy(result => result.EntitiesPerSecond);

    private static string Rate(BenchResult result) => Number(result.EntitiesPerSecond);

    private static string Number(double number) => number.ToString("N0", CultureInfo.InvariantCulture);
}
