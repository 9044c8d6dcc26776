using System.Diagnostics;
using System.Globalization;
using System.Text.Json;
using HibpIngest.Cli.Emulator;
using HibpIngest.Cli.Samples;
using HibpIngest.Hosting;
using HibpIngest.Storage.Sql.Sqlite;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Loads five breaches through <c>hibp run</c> on four emulators (one removed, one replaced, one purged, one held),
/// and rebuilds them with <c>hibp layout rebuild</c> into a layout over all four with a spread domain. The rebuild is killed
/// repeatedly while a sixth breach is being loaded; reads are switched to the layout in its middle, and back, and it
/// is dropped. Compares both layouts with what a separate script expects (compare-layout.mjs).
/// </summary>
internal sealed class RebuildCampaign(string folder, Action<string> say)
{
    private const int StorageAccounts = 4;
    private const int Partitions = 8;
    private static readonly string[] LockedOut = ["is running", "is under way"];
    private static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(250);
    private static readonly TimeSpan TestTimeout = TimeSpan.FromHours(2);

    private readonly Dictionary<string, string> _variables = [];
    private readonly List<AzuriteEmulator> _emulators = [];

    /// <summary>Prints the figures; returns false if a layout's content differs from what is expected.</summary>
    /// <param name="accounts">Accounts per breach; the sixth has twice as many.</param>
    /// <param name="kills">Number of killed rebuilds.</param>
    /// <param name="seed">Seeds everything random.</param>
    /// <param name="skipsTime">Doesn't wait a minute for the lock of a killed rebuild, or until a dropped layout has
    /// no reader.</param>
    public async Task<bool> RunAsync(int accounts, int kills, int seed, bool skipsTime = false)
    {
        say($"seed {seed}");
        var random = new Random(seed);
        try
        {
            for (var number = 1; number <= StorageAccounts; number++)
            {
                _emulators.Add(await AzuriteEmulator.StartAsync(new AzuriteOptions(), CancellationToken.None));
                _variables[number == 1 ? "HIBP_STORAGE" : $"HIBP_STORAGE_{number}"] = _emulators[^1].ConnectionString;
            }
            (_variables["HIBP_DATABASE"], _variables["HIBP_MAIL"]) = (File("hibp.db"), $"pickup:{File("mail")}");
            _variables["HIBP_SLICEROWS"] = Math.Clamp(accounts / 20, 100, 10_000).ToString(CultureInfo.InvariantCulture);
            await using var processes = new CommandProcesses(folder, _variables);
            return await RunAsync(processes, accounts, kills, random, seed, skipsTime);
        }
        finally
        {
            foreach (var emulator in _emulators)
                await emulator.DisposeAsync();
        }
    }

    private async Task<bool> RunAsync(
        CommandProcesses processes, int accounts, int kills, Random random, int seed, bool skipsTime)
    {
        using var passed = new PassedTime(_emulators[0].ConnectionString, File("hibp.db"));
        Write("Purged", accounts, seed);
        Write("Removed", accounts, seed + 1, overlap: seed);
        Write("Replaced", accounts, seed + 2, overlap: seed);
        Write("Held", accounts, seed + 3, overlap: seed);
        Write("Plain", accounts, seed + 4, overlap: seed);
        Write("Sixth", 2 * accounts, seed + 5, overlap: seed);
        var host = processes.Start("run");
        await CommandProcesses.SaysAsync(host, "ready");
        await using var database = SqliteBreachDatabase.Open(File("hibp.db"), TimeProvider.System);
        foreach (var name in (string[])["Purged", "Removed", "Replaced", "Plain"])
            await processes.RunAsync("drop", File($"{name}.zip"));
        await processes.RunAsync("drop", File("Held.zip"), "--notify", "hold");
        await WaitAsync(host, database, loads => loads.Count == 5 && loads.All(IsIn));
        Write("Replaced", accounts, seed + 6, overlap: seed);
        await processes.RunAsync("drop", File("Replaced.zip"));
        await WaitAsync(host, database, loads => loads.Count == 6 && loads.All(IsIn));
        await processes.RunAsync("breach", "remove", "Removed", "--yes");
        await WaitAsync(host, database, loads => loads.Count == 5);
        var purged = (await database.ListLoadsAsync("Purged", CancellationToken.None))[0].Id;
        while (!(await database.GetLogEntryAsync(purged, CancellationToken.None))!.IsLogged)
            await Task.Delay(PollInterval);
        await processes.RunAsync("purge", $"{purged}");

        // The sixth is half loaded, and stays so as long as needed.
        await processes.RunAsync("drop", File("Sixth.zip"));
        await WaitAsync(host, database, loads => loads.Any(load => load is { Breach: "Sixth", Slices.Done: > 0 }));
        await SignalAsync(host, "STOP");
        var began = Stopwatch.GetTimestamp();
        var (layout, killed, runs) = ("wide", 0, 0);
        while (true)
        {
            runs++;
            var rebuild = processes.Start("rebuild", "--into", layout, "--spread", $"gmail.com={Partitions}", "--accounts",
                string.Join(',', Enumerable.Range(1, StorageAccounts)), "--memory", "16");
            var said = rebuild.StandardError.ReadToEndAsync();
            var output = rebuild.StandardOutput.ReadToEndAsync();
            if (killed < kills && await KillAsync(rebuild, random))
            {
                killed++;
                if (skipsTime)
                    await passed.ExpireLocksAsync();
                if (killed == kills / 2)
                    await SignalAsync(host, "CONT");
                continue;
            }
            await rebuild.WaitForExitAsync();
            // The locks of a killed rebuild expire after a while.
            if (rebuild.ExitCode != 0 && LockedOut.Any((await said).Contains))
            {
                await Task.Delay(TimeSpan.FromSeconds(5));
                continue;
            }
            if (rebuild.ExitCode != 0)
                throw new InvalidOperationException($"hibp layout rebuild ended with {rebuild.ExitCode}: {await said}");
            say((await output).Trim());
            if (killed >= kills)
                break;
            // It finished before the kill: the next kills hit another layout.
            layout = $"wide{runs}";
        }
        var rebuilt = Stopwatch.GetElapsedTime(began);
        await processes.RunAsync("switch", layout);
        await SignalAsync(host, "CONT");
        await WaitAsync(host, database, loads => loads.All(IsIn));

        var differences = await CompareAsync(database, layout, StorageAccounts) + await CompareAsync(database, "", 1);
        await processes.RunAsync("switch", "1");
        if (skipsTime)
            await CommandProcesses.SaysAsync(processes.Start("layout", "drop", layout, "--yes"), "No longer written");
        else
            await processes.RunAsync("layout", "drop", layout, "--yes");
        say($"{killed} kills in {runs} runs of {rebuilt.TotalSeconds:F0} s together; {differences} differences");
        return differences == 0 && killed == kills;
    }

    /// <summary>Kills it at a random moment; returns false if it ended first.</summary>
    private static async Task<bool> KillAsync(Process process, Random random)
    {
        using var soon = new CancellationTokenSource(TimeSpan.FromSeconds(1 + (4 * random.NextDouble())));
        try
        {
            await process.WaitForExitAsync(soon.Token);
            return false;
        }
        catch (OperationCanceledException)
        {
            process.Kill();
            await process.WaitForExitAsync();
            return true;
        }
    }

    /// <summary>Returns how many accounts and hashes of a layout differ from the zips.</summary>
    private async Task<int> CompareAsync(SqliteBreachDatabase database, string layout, int storageAccounts)
    {
        var loads = await database.ListLoadsAsync(null, CancellationToken.None);
        var plan = JsonSerializer.Serialize(new
        {
            connections = _emulators.Take(storageAccounts).Select(emulator => emulator.ConnectionString),
            accounts = $"accounts{layout}",
            ranges = $"ranges{layout}",
            extract = RepositoryFolder.Find("tests/HibpIngest.Testing/EndToEnd/extract-accounts.mjs"),
            breaches = loads.Where(load => load.ReplacedBy is null)
                .Select(load => new { zip = File($"{load.Breach}.zip"), mark = load.Mark }),
        });
        await System.IO.File.WriteAllTextAsync(File("plan.json"), plan);
        var script = RepositoryFolder.Find("tests/HibpIngest.Benchmarks/compare-layout.mjs")!;
        using var process = Process.Start(new ProcessStartInfo("node", ["--max-old-space-size=4096", script, File("plan.json")])
        {
            UseShellExecute = false,
            RedirectStandardOutput = true,
        })!;
        var output = await process.StandardOutput.ReadToEndAsync();
        await process.WaitForExitAsync();
        if (process.ExitCode != 0)
            throw new InvalidOperationException($"the script that compares ended with {process.ExitCode}");
        say($"layout {(layout.Length == 0 ? "1" : layout)}: {output.Trim()}");
        var found = JsonElement.Parse(output);
        return found.GetProperty("accountsDiffer").GetInt32() + found.GetProperty("rangesDiffer").GetInt32();
    }

    private static bool IsIn(Load load) => load.State is LoadState.Done or LoadState.Held;

    private static async Task WaitAsync(Process host, SqliteBreachDatabase database, Func<IReadOnlyList<Load>, bool> until)
    {
        var began = Stopwatch.GetTimestamp();
        while (true)
        {
            if (host.HasExited)
                throw new InvalidOperationException($"hibp run ended with {host.ExitCode}");
            if (Stopwatch.GetElapsedTime(began) > TestTimeout)
                throw new TimeoutException($"it was not loaded after {TestTimeout}");
            var loads = await database.ListLoadsAsync(null, CancellationToken.None);
            if (loads.FirstOrDefault(load => load.State == LoadState.Failed) is { } failed)
                throw new InvalidOperationException($"load {failed.Id} of {failed.Breach} failed: {failed.Error}");
            if (until(loads))
                return;
            await Task.Delay(PollInterval);
        }
    }

    private static async Task SignalAsync(Process process, string signal)
    {
        using var kill = Process.Start("kill", [$"-{signal}", process.Id.ToString(CultureInfo.InvariantCulture)]);
        await kill.WaitForExitAsync();
    }

    private void Write(string name, int accounts, int seed, int? overlap = null)
    {
        using var file = System.IO.File.Create(File($"{name}.zip"));
        var options = new SampleOptions { Accounts = accounts, Seed = seed };
        SampleBreach.Write(
            file, overlap is { } with ? options with { OverlapPercent = 20, OverlapSeed = with } : options, CancellationToken.None);
    }

    private string File(string name) => Path.Combine(folder, name);
}
