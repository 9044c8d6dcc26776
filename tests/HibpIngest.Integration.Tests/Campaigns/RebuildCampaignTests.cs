using HibpIngest.Cli.Emulator;
using Microsoft.Data.Sqlite;

namespace HibpIngest.Integration.Tests.Campaigns;

/// <summary>
/// Loads five breaches on four emulators (one removed, one replaced, one purged, one held), and rebuilds them with
/// <c>hibp rebuild</c> into a layout over all four with a spread domain. The rebuild is killed repeatedly while a
/// sixth breach is being loaded; reads are switched to the layout in its middle, and back, and it is dropped. Both
/// layouts are compared with what a separate script expects (compare-layout.mjs).
/// </summary>
public sealed class RebuildCampaignTests(ITestOutputHelper output) : Campaign(output)
{
    private const int StorageAccounts = 4;
    private const int Partitions = 8;
    private static readonly int Accounts = Size(1_000, 10_000); // per breach; the sixth has twice as many
    private static readonly int Kills = Size(1, 20);
    private static readonly string[] LockedOut = ["is running", "is in progress"];

    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();
        for (var number = 2; number <= StorageAccounts; number++)
            Variables[$"HIBP_STORAGE_{number}"] = (await StartEmulatorAsync(new AzuriteOptions())).ConnectionString;
        Variables["HIBP_SLICEROWS"] = $"{Math.Clamp(Accounts / 20, 100, 10_000)}";
    }

    [Fact]
    public async Task Rebuild_killed_repeatedly_during_a_load_matches_the_script()
    {
        var random = new Random(Seed);
        using var passed = OpenPassedTime();
        WriteSample("Purged", Accounts, Seed);
        foreach (var (i, name) in ((string[])["Removed", "Replaced", "Held", "Plain"]).Index())
            WriteSample(name, Accounts, Seed + 1 + i, overlap: 20, with: Seed);
        WriteSample("Sixth", 2 * Accounts, Seed + 5, overlap: 20, with: Seed);
        var host = await StartHostAsync();
        await using var database = OpenDatabase();
        foreach (var name in (string[])["Purged", "Removed", "Replaced", "Plain"])
            await SucceedAsync("drop", File($"{name}.zip"));
        await SucceedAsync("drop", File("Held.zip"), "--notify", "hold");
        await WaitAsync(host, database, loads => loads.Count == 5 && loads.All(IsIn));
        WriteSample("Replaced", Accounts, Seed + 6, overlap: 20, with: Seed);
        await SucceedAsync("drop", File("Replaced.zip"));
        await WaitAsync(host, database, loads => loads.Count == 6 && loads.All(IsIn));
        await SucceedAsync("breach", "remove", "Removed", "--yes");
        await WaitAsync(host, database, loads => loads.Count == 5);
        var purged = (await database.ListLoadsAsync("Purged", None))[0].Id;
        while (!(await database.GetJournalEntryAsync(purged, None))!.IsJournaled)
            await Task.Delay(PollInterval);
        await SucceedAsync("purge", $"{purged}");

        // The sixth is half loaded, and stays so as long as needed.
        await SucceedAsync("drop", File("Sixth.zip"));
        await WaitAsync(host, database, loads => loads.Any(load => load is { Breach: "Sixth", Slices.Done: > 0 }));
        await StopAsync(host);
        var began = Stopwatch.GetTimestamp();
        var (layout, killed, runs) = ("wide", 0, 0);
        while (true)
        {
            runs++;
            var rebuild = Start("rebuild", "--into", layout, "--spread", $"gmail.com={Partitions}", "--accounts",
                string.Join(',', Enumerable.Range(1, StorageAccounts)), "--memory", "16");
            using var soon = new CancellationTokenSource(TimeSpan.FromSeconds(1 + (4 * random.NextDouble())));
            if (killed < Kills && !await rebuild.HasEndedAsync(soon.Token))
            {
                await rebuild.KillAsync();
                killed++;
                // The long form waits a minute for the lock of each killed rebuild.
                if (!IsLong)
                    await passed.ExpireLocksAsync();
                if (killed == Kills / 2)
                    await host.SignalAsync("CONT");
                continue;
            }
            var result = await rebuild.EndAsync();
            if (result.ExitCode != 0 && LockedOut.Any(result.Error.Contains))
            {
                await Task.Delay(TimeSpan.FromSeconds(5));
                continue;
            }
            Say(result.Succeeded().Output.Trim());
            if (killed >= Kills)
                break;
            // It finished before the kill: the next kills hit another layout.
            layout = $"wide{runs}";
        }
        var rebuilt = Stopwatch.GetElapsedTime(began);
        await SucceedAsync("switch", layout);
        await host.SignalAsync("CONT");
        await WaitAsync(host, database, loads => loads.All(IsIn));

        var differences = await CompareAsync(database, layout, StorageAccounts) + await CompareAsync(database, "", 1);
        await SucceedAsync("switch", "1");
        // The long form waits until a dropped layout has no reader.
        if (IsLong)
            await SucceedAsync("layout", "drop", layout, "--yes");
        else
            await (await StartAsync("No longer written", "layout", "drop", layout, "--yes")).DisposeAsync();
        Say($"{killed} kills in {runs} runs of {rebuilt.TotalSeconds:F0} s together; {differences} differences");
        Assert.Equal(0, differences);
    }

    /// <summary>Stops a host, but not within a transaction: it would keep the database locked.</summary>
    private async Task StopAsync(HibpProcess host)
    {
        await using var connection = new SqliteConnection($"Data Source={File("hibp.db")};Pooling=False;Default Timeout=1");
        await connection.OpenAsync();
        for (var tries = 1; ; tries++)
        {
            await host.SignalAsync("STOP");
            try
            {
                await (await connection.BeginTransactionAsync()).DisposeAsync();
                return;
            }
            catch (SqliteException e) when (e.SqliteErrorCode == SQLitePCL.raw.SQLITE_BUSY && tries < 60)
            {
                await host.SignalAsync("CONT");
            }
        }
    }

    /// <summary>Returns how many accounts and hashes of a layout differ from the zips.</summary>
    private async Task<int> CompareAsync(SqliteBreachDatabase database, string layout, int storageAccounts)
    {
        var loads = await database.ListLoadsAsync(null, None);
        await System.IO.File.WriteAllTextAsync(File("plan.json"), JsonSerializer.Serialize(new
        {
            connections = Emulators.Take(storageAccounts).Select(emulator => emulator.ConnectionString),
            accounts = $"accounts{layout}",
            ranges = $"ranges{layout}",
            extract = RepositoryFile.Path(Extract),
            breaches = loads.Where(load => load.ReplacedBy is null)
                .Select(load => new { zip = File($"{load.Breach}.zip"), mark = load.Mark }),
        }));
        var (output, _) = await ExternalProgram.RunScriptAsync($"{Scripts}/compare-layout.mjs", File("plan.json"));
        Say($"layout {(layout.Length == 0 ? "1" : layout)}: {output.Trim()}");
        var found = JsonElement.Parse(output);
        return found.GetProperty("accountsDiffer").GetInt32() + found.GetProperty("rangesDiffer").GetInt32();
    }

    private static bool IsIn(Load load) => load.State is LoadState.Done or LoadState.Held;
}
