using System.IO.Compression;
using HibpIngest.Cli.Emulator;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Races <c>hibp run</c> against <see cref="Peers.PublishedPipeline"/> from the dropped zip to the last account written, alternately, on
/// the same machine, SQLite and a fresh emulator each. Accounts go into the emulator, with none, some or all of them there before; or, all
/// of them new, into a <see cref="ThrottlingTableServer"/> with limits or without. With limits, a third contender is <c>hibp run</c> with a
/// layout that spreads the largest domain.
/// </summary>
internal sealed class RaceBenchmark(string folder, int accounts, int rounds)
{
    // A model of Azure Table Storage: its documented limits, and a latency that grows with a transaction's entities.
    private static readonly TableLimits Limits =
        new() { Latency = TimeSpan.FromMilliseconds(10), EntityLatency = TimeSpan.FromMilliseconds(0.2) };

    /// <summary>Partitions of the largest domain, where it is spread.</summary>
    private const int Spread = 16;

    private static readonly TableLimits NoLimits = new() { Latency = TimeSpan.Zero, PartitionRate = 1e9, AccountRate = 1e9 };

    // The contender that isn't ours; each of ours is identified by its number of partitions.
    private const int Published = 0;

    private int _runs;

    /// <summary>Prints the figures; returns false if a limit is missed.</summary>
    public async Task<bool> RunAsync(string store)
    {
        Console.WriteLine("| existing | | whole, s | copy, s | tables, s | requests | CPU, s | emulator's CPU, s | peak, MiB |");
        Console.WriteLine("| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
        switch (store)
        {
            case "answering":
                var (answered, _) = (await RaceAsync(0, NoLimits, 1))[0];
                return answered is { Seconds: >= 15, Cpu: >= 30 };
            case "limits":
                int[] partitions = [1, Spread];
                var limited = await RaceAsync(0, Limits, partitions);
                var shares = partitions.Zip(limited, (count, one) => ThrottledRows.Bound(accounts, Limits, count) / one.Ours.Seconds)
                    .ToList();
                Console.Error.WriteLine($"ours writes {shares[0]:P0} of what the limits allow, {shares[1]:P0} with the domain spread");
                return limited[1].Ratio.Seconds >= 5 && shares.TrueForAll(share => share >= 0.95);
            default:
                var within = true;
                foreach (var percent in (int[])[0, 20, 100])
                {
                    var (ratio, own) = (await RaceAsync(percent, null, 1))[0];
                    var work = own.Seconds / ((own.EmulatorCpu * 1.25) + 1);
                    Console.Error.WriteLine($"{percent}% existing: ours takes {work:F2} of 1.25 times the emulator's own work and 1 s");
                    within &= ratio.Seconds >= 2.5 && work <= 1;
                }
                return within;
        }
    }

    /// <summary>
    /// Returns, for each number of partitions, the ratios of the medians (of the whole: the median of the pairs) and the medians of ours.
    /// </summary>
    /// <param name="percent">Share of the accounts that are in the table before.</param>
    /// <param name="limits">Limits of the table server; null: the emulator's tables.</param>
    /// <param name="partitions">Numbers of partitions of the largest domain.</param>
    private async Task<List<(Run Ratio, Run Ours)>> RaceAsync(int percent, TableLimits? limits, params int[] partitions)
    {
        var zip = Write($"Race{percent}", accounts);
        string[] zips = percent == 0 ? [zip] : [Write($"Before{percent}", (int)((long)accounts * percent / 100)), zip];
        // Ours reads nothing, so its requests don't depend on what the tables hold.
        var requests = limits is null ? (await RunAsync(1, [zip], NoLimits)).Requests : 0;
        int[] contenders = [Published, .. partitions];
        var runs = contenders.ToDictionary(contender => contender, _ => new List<Run>());
        for (var round = 0; round < rounds; round++)
        {
            // The order alternates.
            foreach (var contender in round % 2 == 0 ? contenders : contenders.Reverse())
            {
                var run = await RunAsync(contender, zips, limits);
                runs[contender].Add(run.Requests > 0 ? run : run with { Requests = requests });
                Console.Error.WriteLine($"{percent}% existing, {Name(contender)} {round + 1}/{rounds}: {run}");
            }
        }
        var peer = Run.Median(runs[Published]);
        Console.WriteLine($"| {percent}% | published | {peer.Row("F1")} |");
        var results = new List<(Run Ratio, Run Ours)>();
        foreach (var contender in partitions)
        {
            var own = Run.Median(runs[contender]);
            var pairs = runs[Published].Zip(runs[contender], (one, other) => one.Seconds / other.Seconds).ToList();
            var ratio = peer.Over(own) with { Seconds = pairs.Median() };
            Console.WriteLine($"| {percent}% | {Name(contender)} | {own.Row("F1")} |");
            Console.WriteLine($"| {percent}% | ratio ({pairs.Min():F2}-{pairs.Max():F2}) | {ratio.Row("F2")} |");
            results.Add((ratio, own));
        }
        return results;
    }

    private static string Name(int contender) =>
        contender == Published ? "published" : contender == 1 ? "ours" : $"ours, {contender} partitions";

    /// <param name="contender"><see cref="Published"/>, or ours with this number of partitions of the largest domain.</param>
    private async Task<Run> RunAsync(int contender, string[] zips, TableLimits? limits)
    {
        await using var emulator = await AzuriteEmulator.StartAsync(new AzuriteOptions(), CancellationToken.None);
        if (limits is null)
            return await RunAsync(contender, emulator, emulator.ConnectionString, zips);
        await using var server = await ThrottlingTableServer.StartAsync(
            limits, ConnectionStrings.Endpoint(emulator.ConnectionString, "Table"));
        var connection = ConnectionStrings.WithTables(emulator.ConnectionString, server.Address);
        return await RunAsync(contender, emulator, connection, zips) with { Requests = server.Transactions };
    }

    private Task<Run> RunAsync(int contender, AzuriteEmulator emulator, string connection, string[] zips) =>
        contender == Published ? RunPeerAsync(emulator, connection, zips) : RunOursAsync(emulator, connection, zips, contender);

    private async Task<Run> RunPeerAsync(AzuriteEmulator emulator, string connection, string[] zips)
    {
        var figures = await MeasuredChild.RunAsync(["race-peer", connection, $"{emulator.ProcessId}", NewFolder(), .. zips]);
        return new Run(figures[1], figures[0], figures[1] - figures[0], figures[2], figures[3], figures[4], figures[5]);
    }

    private async Task<Run> RunOursAsync(AzuriteEmulator emulator, string connection, string[] zips, int partitions)
    {
        var work = NewFolder();
        var variables = new Dictionary<string, string>
        {
            ["HIBP_STORAGE"] = connection,
            ["HIBP_DATABASE"] = Path.Combine(work, "hibp.db"),
            ["HIBP_MAIL"] = $"pickup:{work}/mail",
            // The published pipeline has neither.
            ["HIBP_RANGES"] = "off",
            ["HIBP_JOURNAL"] = "off",
        };
        await using var host = await HibpProcess.StartAsync(work, variables, "ready", "run");
        if (partitions > 1)
        {
            string[][] commands =
            [
                ["rebuild", "--into", "spread", "--spread", $"{ThrottledRows.Hot}={partitions}"], ["switch", "spread"],
                ["drop", "1", "--yes"],
            ];
            foreach (var command in commands)
            {
                var result = await HibpProcess.RunAsync(work, variables, ["layout", .. command]);
                if (result.ExitCode != 0)
                    throw new InvalidOperationException(result.Error);
            }
        }
        using var account = StorageAccount.Open(emulator.ConnectionString, NullLoggerFactory.Instance);
        await using var database = SqliteBreachDatabase.Open(variables["HIBP_DATABASE"], TimeProvider.System);
        for (var i = 0; ; i++)
        {
            var (own, emulators) = (new ProcessCpu(host.Id), new ProcessCpu(emulator.ProcessId));
            var dropped = TimeProvider.System.GetUtcNow();
            await using (var content = File.OpenRead(zips[i]))
                await account.Blobs.UploadAsync($"Breach{i}.zip", content, null, CancellationToken.None);
            var load = await ThrottledLoad.WaitForLoadAsync(host, database, i + 1);
            if (load.Entities != load.Accounts || load.State != LoadState.Done)
                throw new InvalidOperationException($"{load.Entities} of {load.Accounts} accounts were written: {load.Error}");
            if (i == zips.Length - 1)
            {
                var (copied, written) = (load.IngestedAt!.Value, load.UpsertedAt!.Value);
                return new Run(
                    (written - dropped).TotalSeconds, (copied - dropped).TotalSeconds, (written - copied).TotalSeconds, 0, own.Seconds,
                    emulators.Seconds, ProcessMemory.PeakMiB(host.Id));
            }
        }
    }

    private string Write(string name, int count)
    {
        var file = Path.Combine(folder, $"{name}.zip");
        using var zip = new ZipArchive(File.Create(file), ZipArchiveMode.Create);
        using var entry = new StreamWriter(zip.CreateEntry("accounts.txt", CompressionLevel.Fastest).Open(), Encoding.ASCII);
        for (var i = 0; i < count; i++)
        {
            var (alias, domain) = ThrottledRows.Account(i);
            entry.Write($"{Encoding.ASCII.GetString(alias)}@{Encoding.ASCII.GetString(domain)}:{i * 7919L % 1_000_003:x8}\n");
        }
        return file;
    }

    private string NewFolder() => Directory.CreateDirectory(Path.Combine(folder, $"race-{++_runs}")).FullName;

    /// <param name="Seconds">From the upload to the last account written.</param>
    /// <param name="Copied">From the upload to the last row in SQLite.</param>
    /// <param name="Tables">From the last row in SQLite to the last account written; writing begins earlier.</param>
    /// <param name="Requests">Writes and reads of accounts; 0: not counted.</param>
    private sealed record Run(
        double Seconds, double Copied, double Tables, double Requests, double Cpu, double EmulatorCpu, double PeakMiB)
    {
        public static Run Median(IReadOnlyList<Run> runs)
        {
            double Of(Func<Run, double> of) => runs.Select(of).Median();
            return new Run(
                Of(run => run.Seconds), Of(run => run.Copied), Of(run => run.Tables), Of(run => run.Requests), Of(run => run.Cpu),
                Of(run => run.EmulatorCpu), Of(run => run.PeakMiB));
        }

        public Run Over(Run other) => new(
            Seconds / other.Seconds, Copied / other.Copied, Tables / other.Tables, Requests / other.Requests, Cpu / other.Cpu,
            EmulatorCpu / other.EmulatorCpu, PeakMiB / other.PeakMiB);

        public string Row(string format)
        {
            string Cell(double value) => value >= 1_000 ? value.ToString("N0") : value.ToString(format);
            return $"{Cell(Seconds)} | {Cell(Copied)} | {Cell(Tables)} | {Cell(Requests)} | {Cell(Cpu)} | {Cell(EmulatorCpu)} | "
                + Cell(PeakMiB);
        }
    }
}
