using System.IO.Compression;

namespace HibpIngest.Integration.Tests.Campaigns;

/// <summary>
/// Loads breaches, one of them sensitive, one hidden and one removed, and compares responses of <c>hibp serve</c>
/// with what a separate script expects (expected-answers.mjs), while another breach is being loaded.
/// </summary>
public sealed class LookupCampaignTests(ITestOutputHelper output) : Campaign(output)
{
    private const string Loading = "Loading";
    private const int LoadingSlices = 100;
    private const int AtOnce = 8;
    private const int MaxTries = 20;

    private static readonly int Accounts = Size(500, 250_000); // of each of the two large breaches
    private static readonly int Drawn = Size(200, 5_000);
    private static readonly int Prefixes = Size(60, 2_000);

    // In addition to a third of the first breach's. They must not be loaded before the last response.
    private static readonly int LoadingAccounts = Size(6_000, 400_000);

    private static readonly (string Name, bool IsShown)[] Breaches =
        [("First", true), ("Second", false), ("Small", true), ("Hidden", false), ("Removed", false), (Loading, false)];

    /// <summary>The time after which no response may show a hidden breach.</summary>
    private static readonly TimeSpan OutWithin = TimeSpan.FromSeconds(10);

    private static readonly UriCreationOptions Verbatim = new() { DangerousDisablePathAndQueryCanonicalization = true };

    [Fact]
    public async Task Lookups_match_the_script_while_another_breach_is_half_loaded()
    {
        // Some slices of the breach being loaded are done, and most aren't.
        Variables["HIBP_SLICEROWS"] = $"{Math.Clamp(LoadingAccounts / LoadingSlices, 100, 10_000)}";
        // Accounts of the small breaches are also in the first, the second or the previous small one, or in no other.
        var small = Math.Max(Accounts / 20, 1);
        WriteSample("First", Accounts, Seed);
        WriteSample("Second", Accounts, Seed + 1, overlap: 20, with: Seed);
        WriteSample("Small", small, Seed + 2, overlap: 30, with: Seed);
        WriteSample("Hidden", small, Seed + 3, overlap: 60, with: Seed + 1);
        WriteSample("Removed", small, Seed + 4, overlap: 60, with: Seed + 2);
        await WriteLoadingAsync();
        var expecting = ExpectAsync();

        var host = await StartHostAsync();
        // The emulator scans a whole table for each range.
        using var client = new HttpClient { BaseAddress = new Uri((await ServeAsync()).Address), Timeout = TimeSpan.FromHours(2) };
        client.DefaultRequestHeaders.Add("user-agent", "campaign");
        var key = await SucceedAsync("keys", "create", "campaign", "--rpm", "1000000", "--scope", "search,range", "--json");
        client.DefaultRequestHeaders.Add("hibp-api-key", JsonElement.Parse(key).GetProperty("key").GetString());

        await using var database = OpenDatabase();
        var began = Stopwatch.GetTimestamp();
        await SucceedAsync("drop", File("First.zip"), "--verified", "true");
        await SucceedAsync("drop", File("Second.zip"), "--verified", "true", "--sensitive", "true");
        foreach (var name in (string[])["Small", "Hidden", "Removed"])
            await SucceedAsync("drop", File($"{name}.zip"));
        await WaitAsync(host, database, loads => loads.Count == 5 && loads.All(load => load.State == LoadState.Done));
        var loaded = Stopwatch.GetElapsedTime(began);
        await SucceedAsync("breach", "hide", "Hidden");
        var hidden = await OutAfterAsync(client, "Hidden");
        await SucceedAsync("breach", "remove", "Removed", "--yes");
        var removed = await OutAfterAsync(client, "Removed");

        await SucceedAsync("drop", File($"{Loading}.zip"), "--verified", "true");
        await WaitAsync(host, database, loads => Open(loads) is { Slices.Done: > 0 });
        // The short form stays half loaded, however slow the requests are.
        if (!IsLong)
            await host.KillAsync();
        var expected = await expecting;
        using var asked = new CancellationTokenSource();
        var pacing = IsLong ? PaceAsync(host, asked.Token) : Task.CompletedTask;
        began = Stopwatch.GetTimestamp();
        var differences = await AskAsync(client, expected.Take(Drawn));
        var accountsAsked = Stopwatch.GetElapsedTime(began);
        differences = [.. differences, .. await AskAsync(client, expected.Skip(Drawn))];
        var rangesAsked = Stopwatch.GetElapsedTime(began) - accountsAsked;
        await asked.CancelAsync();
        await pacing;
        var open = Open(await ListLoadsAsync(database));

        Say("| accounts of each | loaded in s | hidden, removed: out after s | accounts | in s | prefixes | in s | answered 200 "
            + "| differences |");
        Say("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
        Say($"| {Accounts:N0} | {loaded.TotalSeconds:F0} | {hidden.TotalSeconds:F1}, {removed.TotalSeconds:F1} | {Drawn:N0} | "
            + $"{accountsAsked.TotalSeconds:F0} | {expected.Count - Drawn:N0} | {rangesAsked.TotalSeconds:F0} | "
            + $"{expected.Count(one => one.Status == 200):N0} | {differences.Count} |");
        Assert.Empty(differences.Take(DifferencesShown));
        Assert.NotNull(open);
        Say($"{Loading} is {open.State} still: {open.Slices.Done} slices of {open.Slices.Total} are in");
        Assert.Equal(Drawn + Prefixes, expected.Count);
        Assert.InRange(hidden, TimeSpan.Zero, OutWithin);
        Assert.InRange(removed, TimeSpan.Zero, OutWithin);
    }

    /// <summary>Lets a host run for one second in five: at full speed it would load the breach before the requests are done.</summary>
    private static async Task PaceAsync(HibpProcess host, CancellationToken cancellationToken)
    {
        while (!cancellationToken.IsCancellationRequested)
        {
            await host.SignalAsync("STOP");
            await Task.Delay(TimeSpan.FromSeconds(4), cancellationToken).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            await host.SignalAsync("CONT");
            await Task.Delay(TimeSpan.FromSeconds(1), cancellationToken).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }
    }

    /// <summary>Returns the load that must still be open; null: it has ended.</summary>
    private static Load? Open(IReadOnlyList<Load> loads) =>
        loads.SingleOrDefault(load => load is { Breach: Loading, State: LoadState.Ingesting or LoadState.Upserting });

    /// <summary>Writes a third of the first breach's accounts, then others.</summary>
    private async Task WriteLoadingAsync()
    {
        WriteSample("Others", LoadingAccounts, Seed + 5);
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

    private async Task<IReadOnlyList<Answer>> ExpectAsync()
    {
        await System.IO.File.WriteAllTextAsync(File("plan.json"), JsonSerializer.Serialize(new
        {
            seed = Seed,
            accounts = Drawn,
            prefixes = Prefixes,
            extract = RepositoryFile.Path(Extract),
            breaches = Breaches.Select(breach => new { name = breach.Name, zip = File($"{breach.Name}.zip"), shown = breach.IsShown }),
        }));
        var (answers, summary) = await ExternalProgram.RunScriptAsync($"{Scripts}/expected-answers.mjs", File("plan.json"));
        Say(summary.Trim());
        return [.. answers.Split('\n', StringSplitOptions.RemoveEmptyEntries)
            .Select(line => JsonSerializer.Deserialize<Answer>(line, JsonSerializerOptions.Web)!)];
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
                if (response.StatusCode == HttpStatusCode.ServiceUnavailable && left > 1)
                    continue;
                var body = await response.Content.ReadAsStringAsync(cancellationToken);
                if ((int)response.StatusCode != one.Status || body != one.Body)
                    differences.Enqueue($"{one.Path}: expected {one.Status} {one.Body}, found {(int)response.StatusCode} {body}");
                return;
            }
        });
        return differences;
    }

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

    private sealed record Answer(string Path, int Status, string Body);
}
