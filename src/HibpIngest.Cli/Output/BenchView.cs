using System.ComponentModel;
using HibpIngest.Cli.TableBench;

namespace HibpIngest.Cli.Output;

internal static class BenchView
{
    public static void Show(Screen screen, IReadOnlyList<BenchResult> results)
    {
        var table = TableFormat.Create("request", "in flight", "p50 ms", "p95", "p99", "entities/s", "requests", "throttled")
            .AlignRight(1, 2, 3, 4, 5, 6, 7);
        table.AddRows(results, result =>
        [
            Describe(result.Cell), TableFormat.Number(result.Cell.InFlight), Time(result.Times.P50), Time(result.Times.P95),
            Time(result.Times.P99), TableFormat.Rate(result.EntitiesPerSecond), TableFormat.Number(result.Requests),
            result.Throttled == 0 ? "" : TableFormat.Number(result.Throttled),
        ]);
        screen.Show($"{Describe(new BenchCell(BenchOperation.Insert, BenchPlan.MaxRows, BenchPlan.Many, 1))}: transactions of "
            + $"{BenchPlan.MaxRows} rows, {BenchPlan.Many} partitions");
        screen.Show(table);
        if (screen.Results.Profile.Out.IsTerminal)
            screen.Show(Chart(results));
        if (results.Sum(result => result.Failed) is > 0 and var failed)
            screen.Say($"warning: {TableFormat.Count(failed, "request")} failed, not because of throttling");
    }

    public static void ShowFindings(
        Screen screen, IReadOnlyList<BenchAdvice> advice, IReadOnlyList<BenchComparison> comparison)
    {
        var compared = TableFormat.Create("observation", "published", "measured", "verdict")
            .AddRows(comparison, one => [one.What, one.Published, one.Measured, one.Verdict]);
        screen.Show(compared);
        var settings = TableFormat.Create("advice", "reason").AddRows(advice, one => [one.Setting, one.Reason]);
        screen.Show(settings, ifEmpty: "No advice follows: too little was measured.");
    }

    private static string Time(double milliseconds) =>
        milliseconds == 0 ? "" : milliseconds.ToString(milliseconds < 99.95 ? "0.0" : "N0", CultureInfo.InvariantCulture);

    private static string Describe(BenchCell cell) =>
        cell.Name + (cell.Rows == 1 ? "" : $" {cell.Rows}") + (cell.Partitions == 1 ? ", one" : ", many");

    internal static BarChart Chart(IReadOnlyList<BenchResult> results)
    {
        var chart = new BarChart { Label = "entities/s, best of 1 to 64 in flight", LabelAlignment = Justify.Left };
        chart.UseValueFormatter((value, _) => TableFormat.Number((long)value));
        foreach (var series in results.GroupBy(result => result.Cell.Series))
        {
            var cell = series.First().Cell;
            chart.AddItem(
                Describe(cell), Math.Round(series.Max(result => result.EntitiesPerSecond)),
                cell.Partitions == 1 ? Color.Blue : Color.Green);
        }
        return chart;
    }
}

[WrittenBy("bench tables")]
[Description("Measurements of a storage account's tables; also the file of --output.")]
internal sealed record BenchDocument(
    string StorageAccount, bool Emulator, DateTimeOffset StartedAt, IReadOnlyList<BenchMeasurementDocument> Measurements)
{
    [Description("True if the account holds a store, whose requests share its limits.")]
    public bool HoldsStore { get; init; }

    [Description("Settings that follow from the figures.")]
    public IReadOnlyList<BenchAdvice> Advice { get; init; } = [];

    [Description("The figures next to published observations.")]
    public IReadOnlyList<BenchComparison> Comparison { get; init; } = [];
}

[Description("Requests of one kind with a constant number in flight. Percentiles are of successful requests, 0 if there are none. Cpu: the "
    + "part of the machine's CPU time that hibp used, 0 to 1.")]
internal sealed record BenchMeasurementDocument(
    string Request, int Rows, int Partitions, int InFlight, int Requests, long Entities, int Throttled, int Failed, double Seconds,
    double EntitiesPerSecond, double P50Milliseconds, double P95Milliseconds, double P99Milliseconds, double Cpu)
{
    public static BenchMeasurementDocument Of(BenchResult result) => new(
        result.Cell.Name, result.Cell.Rows, result.Cell.Partitions, result.Cell.InFlight, result.Requests, result.Entities,
        result.Throttled, result.Failed, Math.Round(result.Elapsed.TotalSeconds, 3), Math.Round(result.EntitiesPerSecond, 1),
        Math.Round(result.Times.P50, 2), Math.Round(result.Times.P95, 2), Math.Round(result.Times.P99, 2), Math.Round(result.Cpu, 2));
}

[WrittenBy("bench tables")]
[Description("The result of --clean.")]
internal sealed record BenchCleanDocument(IReadOnlyList<string> DeletedTables);
