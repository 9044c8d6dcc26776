using System.Diagnostics;
using System.Globalization;
using System.Net.Http.Headers;
using System.Security.Cryptography;
using System.Text.Json;
using HibpIngest.Cli.Emulator;
using HibpIngest.Cli.Samples;
using HibpIngest.Hosting;
using HibpIngest.Storage.Sql.Sqlite;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Loads two breaches through two <c>hibp run</c> on one emulator, one of which is killed repeatedly while two
/// clients are called whose server fails, stalls, throttles and refuses by turns. Compares the accepted calls with
/// what a separate script expects (call-campaign.mjs).
/// </summary>
internal sealed class CallbackCampaign(string folder, Action<string> say)
{
    private const int Hosts = 2;
    private const int Cap = 8;
    private static readonly string Script = RepositoryFolder.Find("tests/HibpIngest.Benchmarks/call-campaign.mjs")!;
    private static readonly string Extract = RepositoryFolder.Find("tests/HibpIngest.Testing/EndToEnd/extract-accounts.mjs")!;
    private static readonly string[] Breaches = ["First", "Second"];
    private static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(250);
    private static readonly TimeSpan TestTimeout = TimeSpan.FromHours(2);

    // After a kill, another host continues with the client when the lease has expired, at the latest after a sweep.
    private static readonly TimeSpan LongestQuiet = TimeSpan.FromMinutes(4);

    private readonly Dictionary<string, string> _variables = [];

    /// <summary>Prints the figures; returns false if the calls differ from what is expected, or if not all kills came in time.</summary>
    /// <param name="accounts">Accounts per breach; a fifth of the second's are in the first too.</param>
    /// <param name="kills">Number of kills.</param>
    /// <param name="seed">Seeds everything random except what is watched and responded.</param>
    /// <param name="skipsTime">Puts the stores into the state of minutes after each kill, instead of waiting.</param>
    public async Task<bool> RunAsync(int accounts, int kills, int seed, bool skipsTime = false)
    {
        say($"seed {seed}");
        var random = new Random(seed);
        await using var emulator = await AzuriteEmulator.StartAsync(new AzuriteOptions(), CancellationToken.None);
        _variables["HIBP_STORAGE"] = emulator.ConnectionString;
        (_variables["HIBP_DATABASE"], _variables["HIBP_MAIL"]) = (File("hibp.db"), $"pickup:{File("mail")}");
        _variables["HIBP_SECRET_KEY"] = Convert.ToBase64String(RandomNumberGenerator.GetBytes(32));
        (_variables["HIBP_CALLLOOPBACK"], _variables["HIBP_CALLPAUSE"]) = ("true", "00:00:00.5");
        _variables["HIBP_SLICEROWS"] = Math.Clamp(accounts / 20, 100, 10_000).ToString(CultureInfo.InvariantCulture);
        await using var processes = new CommandProcesses(folder, _variables);
        WriteSample("First", new SampleOptions { Accounts = accounts, Seed = seed });
        WriteSample(
            "Second", new SampleOptions { Accounts = accounts, Seed = seed + 1, OverlapPercent = 20, OverlapSeed = seed });
        using var receiver = StartScript("receive", File("calls"));
        try
        {
            var port = (await receiver.StandardOutput.ReadLineAsync())!;
            using var passed = new PassedTime(emulator.ConnectionString, File("hibp.db"));
            return await RunAsync(processes, port, kills, random, skipsTime ? passed : null);
        }
        finally
        {
            receiver.Kill();
        }
    }

    private async Task<bool> RunAsync(CommandProcesses processes, string port, int kills, Random random, PassedTime? passed)
    {
        var hosts = new Process[Hosts];
        for (var i = 0; i < Hosts; i++)
            hosts[i] = await StartHostAsync(processes);
        await AskScriptAsync("watch", File("half"), "half");
        await AskScriptAsync("watch", File("some"), Extract, File("First.zip"));
        var serve = processes.Start("serve", "--urls", "http://127.0.0.1:0");
        var address = (await CommandProcesses.SaysAsync(serve, "API:"))["API:".Length..].Trim();
        using var http = new HttpClient { BaseAddress = new Uri(address) };
        var clients = new[]
        {
            await AddClientAsync(processes, http, "half", port), await AddClientAsync(processes, http, "some", port),
        };

        var began = Stopwatch.GetTimestamp();
        foreach (var breach in Breaches)
            await processes.RunAsync("drop", File($"{breach}.zip"));
        await using var database = SqliteBreachDatabase.Open(File("hibp.db"), TimeProvider.System);
        var killed = 0;
        for (var told = await WaitForCallAsync(database, -1); killed < kills && told >= 0; told = await WaitForCallAsync(database, told))
        {
            await Task.Delay(TimeSpan.FromMilliseconds(random.Next(4_000)));
            var one = random.Next(Hosts);
            if (hosts[one].HasExited)
                throw new InvalidOperationException($"hibp run ended with {hosts[one].ExitCode}");
            hosts[one].Kill();
            await hosts[one].WaitForExitAsync();
            killed++;
            if (passed is not null)
            {
                await passed.ExpireLeasesAsync(hosts[one].Id);
                await passed.SweepAsync();
            }
            told = CallsReceived();
            hosts[one] = await StartHostAsync(processes);
        }
        while (!await AreMadeAsync(database))
            await LookAsync(began);
        var took = Stopwatch.GetElapsedTime(began);

        await System.IO.File.WriteAllTextAsync(File("plan.json"), JsonSerializer.Serialize(new
        {
            log = File("calls"),
            extract = Extract,
            breaches = Breaches.Select(name => new { name, zip = File($"{name}.zip") }),
            clients = clients.Select(client => new
            {
                path = $"/{client.Name}",
                number = client.Number,
                secret = client.Secret,
                cap = Cap,
                bitmap = File(client.Name),
            }),
        }));
        var output = await AskScriptAsync("check", File("plan.json"));
        say(output.Trim());
        var loads = await database.ListLoadsAsync(null, CancellationToken.None);
        say($"{killed} kills in {took.TotalSeconds:F0} s; accepted calls by the database: {loads.Sum(load => load.Calls!.Answered)}");
        var found = JsonElement.Parse(output);
        return killed == kills && found.GetProperty("expected").GetInt32() > 0
            && !found.GetProperty("faults").EnumerateObject().Any() && loads.All(load => load.Calls!.Dead == 0);
    }

    private async Task<(string Name, int Number, string Secret)> AddClientAsync(
        CommandProcesses processes, HttpClient http, string name, string port)
    {
        var added = JsonElement.Parse(await processes.RunAsync(
            "clients", "add", name, "--url", $"http://127.0.0.1:{port}/{name}", "--cap", $"{Cap}", "--json"));
        using var content = new ByteArrayContent(await System.IO.File.ReadAllBytesAsync(File(name)));
        content.Headers.ContentType = new MediaTypeHeaderValue("application/octet-stream");
        using var request = new HttpRequestMessage(HttpMethod.Put, "enterprise/range/subscriptions") { Content = content };
        request.Headers.Add("Hibp-Enterprise-Api-Key", added.GetProperty("key").GetString());
        request.Headers.Add("User-Agent", "campaign");
        using var answer = await http.SendAsync(request);
        answer.EnsureSuccessStatusCode();
        return (name, added.GetProperty("number").GetInt32(), added.GetProperty("secret").GetString()!);
    }

    private static async Task<Process> StartHostAsync(CommandProcesses processes)
    {
        var host = processes.Start("run");
        await CommandProcesses.SaysAsync(host, "ready");
        return host;
    }

    /// <summary>Returns the number of calls once it exceeds this one; -1 if there will be none.</summary>
    private async Task<int> WaitForCallAsync(SqliteBreachDatabase database, int before)
    {
        var began = Stopwatch.GetTimestamp();
        while (CallsReceived() <= Math.Max(before, 0))
        {
            if (await AreMadeAsync(database))
                return -1;
            await LookAsync(began, before < 0 ? TestTimeout : LongestQuiet);
        }
        return CallsReceived();
    }

    private int CallsReceived() => System.IO.File.Exists(File("calls")) ? CountLines() : 0;

    private int CountLines()
    {
        using var file = new FileStream(File("calls"), FileMode.Open, FileAccess.Read, FileShare.ReadWrite);
        var (buffer, lines) = (new byte[1 << 16], 0);
        for (int read; (read = file.Read(buffer)) > 0;)
            lines += buffer.AsSpan(0, read).Count((byte)'\n');
        return lines;
    }

    private static async Task<bool> AreMadeAsync(SqliteBreachDatabase database)
    {
        var loads = await database.ListLoadsAsync(null, CancellationToken.None);
        if (loads.FirstOrDefault(load => load.State == LoadState.Failed) is { } failed)
            throw new InvalidOperationException($"load {failed.Id} of {failed.Breach} failed: {failed.Error}");
        return loads.Count == Breaches.Length
            && loads.All(load => load is { State: LoadState.Done, Calls: { IsLookedThrough: true, Open: 0 } });
    }

    private static async Task LookAsync(long began, TimeSpan? longest = null)
    {
        if (Stopwatch.GetElapsedTime(began) > (longest ?? TestTimeout))
            throw new TimeoutException($"nobody was called for {Stopwatch.GetElapsedTime(began)}");
        await Task.Delay(PollInterval);
    }

    private static Process StartScript(params string[] arguments) => Process.Start(new ProcessStartInfo(
        "node", ["--max-old-space-size=4096", Script, .. arguments])
    {
        UseShellExecute = false,
        RedirectStandardOutput = true,
    })!;

    private static async Task<string> AskScriptAsync(params string[] arguments)
    {
        using var process = StartScript(arguments);
        var output = await process.StandardOutput.ReadToEndAsync();
        await process.WaitForExitAsync();
        return process.ExitCode == 0 ? output : throw new InvalidOperationException($"{arguments[0]} ended with {process.ExitCode}");
    }

    private void WriteSample(string name, SampleOptions options)
    {
        using var file = System.IO.File.Create(File($"{name}.zip"));
        SampleBreach.Write(file, options, CancellationToken.None);
    }

    private string File(string name) => Path.Combine(folder, name);
}
