using System.Collections.Concurrent;
using System.Diagnostics;
using System.Globalization;
using System.IO.Compression;
using System.Text.Json;
using HibpIngest.Cli.Emulator;
using HibpIngest.Cli.Samples;
using HibpIngest.Hosting;
using HibpIngest.Storage.Sql.Sqlite;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Loads breaches through <c>hibp run</c> on the emulator, one of them sensitive, one hidden and one removed, and
/// compares responses of <c>hibp serve</c> with what a separate script expects (expected-answers.mjs), while another
/// breach is being loaded.
/// </summary>
internal sealed class LookupCampaign(string folder, Action<string> say)
{
    private const string Loading = "Loading";
    private const int LoadingSlices = 100;
    private const int AtOnce = 8;
    private const int DifferencesShown = 5;
    private const int MaxTries = 20;

    private static readonly (string Name, bool IsShown)[] Breaches =
        [("First", true), ("Second", false), ("Small", true), ("Hidden", false), ("Removed", false), (Loading, false)];

    private static readonly TimeSpan TestTimeout = TimeSpan.FromHours(2);

    /// <summary>A hidden breach must be out of every response by then.</summary>
    private static readonly TimeSpan OutWithin = TimeSpan.FromSeconds(10);

    private readonly Dictionary<string, string> _variables = [];

    /// <summary>Prints the figures; returns false if a response differs from what is expected.</summary>
    /// <param name="accounts">Accounts of each of the two large breaches.</param>
    /// <param name="drawn">Accounts to request.</param>
    /// <param name="prefixes">Prefixes to request.</param>
    /// <param name="loading">Accounts of the breach being loaded, in addition to a third of the first breach's.</param>
    /// <param name="seed">Seeds everything random.</param>
    /// <param name="freezes">Stops the host once some of its slices are done, so that the breach stays half loaded
    /// however slow the requests are; otherwise loading continues, and the breach must be large enough.</param>
    public async Task<bool> RunAsync(int accounts, int drawn, int prefixes, int loading, int seed, bool freezes = false)
    {
        say($"seed {seed}");
        await using var emulator = await AzuriteEmulator.StartAsync(new AzuriteOptions(), CancellationToken.None);
        (_variables["HIBP_STORAGE"], _variables["HIBP_DATABASE"], _variables["HIBP_MAIL"]) =
            (emulator.ConnectionString, File("hibp.db"), $"pickup:{File("mail")}");
        // Some slices of the breach being loaded are done, and most aren't.
        _variables["HIBP_SLICEROWS"] = Math.Clamp(loading / LoadingSlices, 100, 10_000).ToString(CultureInfo.InvariantCulture);
        await using var processes = new CommandProcesses(folder, _variables);
        // Accounts of the small breaches are also in the first, the second or the previous small one, or in no other.
        var small = Math.Max(accounts / 20, 1);
        await WriteSampleAsync("First", accounts, seed);
        await WriteSampleAsync("Second", accounts, seed + 1, overlap: 20, with: seed);
        await WriteSampleAsync("Small", small, seed + 2, overlap: 30, with: seed);
        await WriteSampleAsync("Hidden", small, seed + 3, overlap: 60, with: seed + 1);
        await WriteSampleAsync("Removed", small, seed + 4, overlap: 60, with: seed + 2);
        await WriteLoadingAsync(loading, seed + 5);
        var expecting = ExpectAsync(drawn, prefixes, seed);

        var host = processes.Start("run");
        await CommandProcesses.SaysAsync(host, "ready");
        var serve = processes.Start("serve", "--urls", "http://127.0.0.1:0");
        var address = (await CommandProcesses.SaysAsync(serve, "API:"))["API:".Length..].Trim();
        // The emulator scans a whole table for each range.
        using var client = new HttpClient { BaseAddress = new Uri(address), Timeout = TestTimeout };
        client.DefaultRequestHeaders.Add("user-agent", "campaign");
        var key = await processes.RunAsync("keys", "create", "campaign", "--rpm", "1000000", "--scope", "search,range", "--json");
        client.DefaultRequestHeaders.Add("hibp-api-key", JsonElement.Parse(key).GetProperty("key").GetString());

        await using var database = SqliteBreachDatabase.Open(File("hibp.db"), TimeProvider.System);
        var began = Stopwatch.GetTimestamp();
        await processes.RunAsync("drop", File("First.zip"), "--verified", "true");
        await processes.RunAsync("drop", File("Second.zip"), "--verified", "true", "--sensitive", "true");
        foreach (var name in (string[])["Small", "Hidden", "Removed"])
            await processes.RunAsync("drop", File($"{name}.zip"));
        await WaitAsync(host, database, loads => loads.Count == 5 && loads.All(load => load.State == LoadState.Done));
        var loaded = Stopwatch.GetElapsedTime(began);
        await processes.RunAsync("breach", "hide", "Hidden");
        var hidden = await OutAfterAsync(client, "Hidden");
        await processes.RunAsync("breach", "remove", "Removed", "--yes");
        var removed = await OutAfterAsync(client, "Removed");

        await processes.RunAsync("drop", File($"{Loading}.zip"), "--verified", "true");
        await WaitAsync(host, database, loads => Open(loads) is { Slices.Done: > 0 });
        if (freezes)
            host.Kill(entireProcessTree: true);
        var expected = await expecting;
        using var asked = new CancellationTokenSource();
        var pacing = freezes ? Task.CompletedTask : PaceAsync(host, asked.Token);
        var askedAt = Stopwatch.GetTimestamp();
        var differences = await AskAsync(client, expected.Take(drawn));
        var accountsAsked = Stopwatch.GetElapsedTime(askedAt);
        differences = [.. differences, .. await AskAsync(client, expected.Skip(drawn))];
        var rangesAsked = Stopwatch.GetElapsedTime(askedAt) - accountsAsked;
        await asked.CancelAsync();
        await pacing;
        var open = Open(await database.ListLoadsAsync(null, CancellationToken.None));

        say("| accounts of each | loaded in s | hidden, removed: out after s | accounts | in s | prefixes | in s | answered 200 "
            + "| differences |");
        say("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
        say(string.Create(
            CultureInfo.InvariantCulture,
            $"| {accounts:N0} | {loaded.TotalSeconds:F0} | {hidden.TotalSeconds:F1}, {removed.TotalSeconds:F1} | {drawn:N0} | "
            + $"{accountsAsked.TotalSeconds:F0} | {expected.Count - drawn:N0} | {rangesAsked.TotalSeconds:F0} | "
            + $"{expected.Count(one => one.Status == 200):N0} | {differences.Count} |"));
        foreach (var difference in differences.Take(DifferencesShown))
            say(difference);
        if (open is null)
            say("the breach that was to be loading meanwhile was in before the last answer: make it larger");
        else
            say($"{Loading} is {open.State} still: {open.Slices.Done} slices of {open.Slices.Total} are in");
        return differences.Count == 0 && open is not null && expected.Count == drawn + prefixes && hidden < OutWithin
            && removed < OutWithin;
    }

    /// <summary>
    /// Lets a host run for one second in five: the emulator is single-threaded, and a host at full speed would load
    /// the breach before the requests are done.
    /// </summary>
    private static async Task PaceAsync(Process host, CancellationToken cancellationToken)
    {
        try
        {
            while (true)
            {
                await SignalAsync(host, "STOP");
                await Task.Delay(TimeSpan.FromSeconds(4), cancellationToken);
                await SignalAsync(host, "CONT");
                await Task.Delay(TimeSpan.FromSeconds(1), cancellationToken);
            }
        }
        catch (OperationCanceledException)
        {
            await SignalAsync(host, "CONT");
        }
    }

    private static async Task SignalAsync(Process process, string signal)
    {
        using var kill = Process.Start("kill", [$"-{signal}", process.Id.ToString(CultureInfo.InvariantCulture)]);
        await kill.WaitForExitAsync();
    }

    /// <summary>Returns the load that must still be open.</summary>
    /// <returns>Null if it has ended.</returns>
    private static Load? Open(IReadOnlyList<Load> loads) =>
        loads.SingleOrDefault(load => load is { Breach: Loading, State: LoadState.Ingesting or LoadState.Upserting });

    private async Task WriteSampleAsync(string name, int accounts, int seed, int overlap = 0, int with = 0)
    {
        await using var file = System.IO.File.Create(File($"{name}.zip"));
        SampleBreach.Write(
            file, new SampleOptions { Accounts = accounts, Seed = seed, OverlapPercent = overlap, OverlapSeed = with },
            CancellationToken.None);
    }

    /// <summary>Writes a third of the first breach's accounts, then others.</summary>
    private async Task WriteLoadingAsync(int accounts, int seed)
    {
        await WriteSampleAsync("Others", accounts, seed);
        await using var zip = new ZipArchive(System.IO.File.Create(File($"{Loading}.zip")), ZipArchiveMode.Create);
        await using var first = await ZipFile.OpenReadAsync(File("First.zip"));
        await using var others = await ZipFile.OpenReadAsync(File("Others.zip"));
        var entries = others.Entries.Select((entry, i) => ($"{i}.txt", entry)).Prepend(("first.txt", first.GetEntry("combo.txt")!));
        foreach (var (name, entry) in entries)
        {
            await using var from = await entry.OpenAsync();
            await using var to = await zip.CreateEntry(name, CompressionLevel.Fastest).OpenAsync();
            await from.CopyToAsync(to);
        }
    }

    /// <summary>Returns what the script expects.</summary>
    private async Task<IReadOnlyList<Answer>> ExpectAsync(int drawn, int prefixes, int seed)
    {
        var plan = JsonSerializer.Serialize(new
        {
            seed,
            accounts = drawn,
            prefixes,
            extract = RepositoryFolder.Find("tests/HibpIngest.Testing/EndToEnd/extract-accounts.mjs"),
            breaches = Breaches.Select(breach => new { name = breach.Name, zip = File($"{breach.Name}.zip"), shown = breach.IsShown }),
        });
        await System.IO.File.WriteAllTextAsync(File("plan.json"), plan);
        var script = RepositoryFolder.Find("tests/HibpIngest.Benchmarks/expected-answers.mjs")!;
        var start = new ProcessStartInfo("node", ["--max-old-space-size=4096", script, File("plan.json")])
        {
            UseShellExecute = false,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        using var process = Process.Start(start)!;
        var said = process.StandardError.ReadToEndAsync();
        var expected = new List<Answer>();
        while (await process.StandardOutput.ReadLineAsync() is { } line)
            expected.Add(JsonSerializer.Deserialize<Answer>(line, JsonSerializerOptions.Web)!);
        await process.WaitForExitAsync();
        if (process.ExitCode != 0)
            throw new InvalidOperationException($"the script that expects ended with {process.ExitCode}: {await said}");
        say((await said).Trim());
        return expected;
    }

    private static async Task<IReadOnlyCollection<string>> AskAsync(HttpClient client, IEnumerable<Answer> expected)
    {
        var differences = new ConcurrentQueue<string>();
        await Parallel.ForEachAsync(expected, new ParallelOptions { MaxDegreeOfParallelism = AtOnce }, async (one, cancellationToken) =>
        {
            // Sends the path exactly as written.
            var address = new Uri(client.BaseAddress!.AbsoluteUri.TrimEnd('/') + one.Path, Verbatim);
            for (var left = MaxTries; ; left--)
            {
                using var response = await client.GetAsync(address, cancellationToken);
                // While the emulator is busy loading, the server may give up waiting for it: any client retries.
                if (response.StatusCode == System.Net.HttpStatusCode.ServiceUnavailable && left > 1)
                    continue;
                var body = await response.Content.ReadAsStringAsync(cancellationToken);
                if ((int)response.StatusCode != one.Status || body != one.Body)
                    differences.Enqueue($"{one.Path}: expected {one.Status} {one.Body}, found {(int)response.StatusCode} {body}");
                return;
            }
        });
        return differences;
    }

    private static readonly UriCreationOptions Verbatim = new() { DangerousDisablePathAndQueryCanonicalization = true };

    /// <summary>Returns how long the server still shows a breach.</summary>
    private static async Task<TimeSpan> OutAfterAsync(HttpClient client, string breach)
    {
        var began = Stopwatch.GetTimestamp();
        using var timer = new PeriodicTimer(TimeSpan.FromMilliseconds(100));
        while (Stopwatch.GetElapsedTime(began) < OutWithin && await timer.WaitForNextTickAsync())
        {
            var breaches = await client.GetStringAsync(new Uri("/api/v3/breaches", UriKind.Relative));
            if (!breaches.Contains($"\"Name\":\"{breach}\"", StringComparison.Ordinal))
                break;
        }
        return Stopwatch.GetElapsedTime(began);
    }

    private static async Task WaitAsync(Process host, SqliteBreachDatabase database, Func<IReadOnlyList<Load>, bool> until)
    {
        using var timer = new PeriodicTimer(TimeSpan.FromMilliseconds(250));
        var began = Stopwatch.GetTimestamp();
        while (await timer.WaitForNextTickAsync())
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
        }
    }

    private string File(string name) => Path.Combine(folder, name);

    /// <summary>A request and its expected response.</summary>
    private sealed record Answer(string Path, int Status, string Body);
}
