using System.Net.Http.Headers;

namespace HibpIngest.Integration.Tests.Campaigns;

/// <summary>
/// Loads two breaches through two <c>hibp run</c>, one of which is killed repeatedly while two clients are called
/// whose server fails, stalls, throttles and refuses by turns. The accepted calls are compared with what a separate
/// script expects (call-campaign.mjs).
/// </summary>
public sealed class CallbackCampaignTests(ITestOutputHelper output) : Campaign(output)
{
    private const int Hosts = 2;
    private const int Cap = 8;
    private const string Script = $"{Scripts}/call-campaign.mjs";
    private static readonly int Accounts = Size(1_000, 20_000); // per breach; a fifth of the second's are in the first too
    private static readonly int Kills = Size(1, 20);
    private static readonly string[] Breaches = ["First", "Second"];
    private static readonly TimeSpan TestTimeout = TimeSpan.FromHours(2);

    // After a kill, another host continues with the client when the lease has expired, at the latest after a sweep.
    private static readonly TimeSpan LongestQuiet = TimeSpan.FromMinutes(4);

    [Fact]
    public async Task Clients_receive_the_expected_calls_while_a_host_is_killed()
    {
        Variables["HIBP_SECRET_KEY"] = Convert.ToBase64String(RandomNumberGenerator.GetBytes(32));
        (Variables["HIBP_CALLLOOPBACK"], Variables["HIBP_CALLPAUSE"]) = ("true", "00:00:00.5");
        Variables["HIBP_SLICEROWS"] = $"{Math.Clamp(Accounts / 20, 100, 10_000)}";
        WriteSample("First", Accounts, Seed);
        WriteSample("Second", Accounts, Seed + 1, overlap: 20, with: Seed);
        using var receiver = ExternalProgram.StartScript(Script, "receive", File("calls"));
        try
        {
            await RunAsync((await receiver.StandardOutput.ReadLineAsync())!);
        }
        finally
        {
            receiver.Kill();
        }
    }

    private async Task RunAsync(string port)
    {
        var random = new Random(Seed);
        using var passed = OpenPassedTime();
        var hosts = new HibpProcess[Hosts];
        for (var i = 0; i < Hosts; i++)
            hosts[i] = await StartHostAsync();
        await ExternalProgram.RunScriptAsync(Script, "watch", File("half"), "half");
        await ExternalProgram.RunScriptAsync(Script, "watch", File("some"), RepositoryFile.Path(Extract), File("First.zip"));
        using var http = new HttpClient { BaseAddress = new Uri((await ServeAsync()).Address) };
        var clients = new[] { await AddClientAsync(http, "half", port), await AddClientAsync(http, "some", port) };

        var began = Stopwatch.GetTimestamp();
        foreach (var breach in Breaches)
            await SucceedAsync("drop", File($"{breach}.zip"));
        await using var database = OpenDatabase();
        var killed = 0;
        for (var calls = await WaitForCallAsync(database, -1); killed < Kills && calls >= 0;
            calls = await WaitForCallAsync(database, calls))
        {
            await Task.Delay(TimeSpan.FromMilliseconds(random.Next(4_000)));
            var one = random.Next(Hosts);
            Assert.False(hosts[one].HasExited, $"hibp run ended: {hosts[one].Error}");
            await hosts[one].KillAsync();
            killed++;
            // The long form waits the minutes that this makes of each kill.
            if (!IsLong)
            {
                await passed.ExpireLeasesAsync(hosts[one].Id);
                await passed.SweepAsync();
            }
            calls = CallsReceived();
            hosts[one] = await StartHostAsync();
        }
        while (!await AreMadeAsync(database))
            await PauseAsync(began, TestTimeout);
        var took = Stopwatch.GetElapsedTime(began);

        await System.IO.File.WriteAllTextAsync(File("plan.json"), JsonSerializer.Serialize(new
        {
            log = File("calls"),
            extract = RepositoryFile.Path(Extract),
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
        var (output, _) = await ExternalProgram.RunScriptAsync(Script, "check", File("plan.json"));
        Say(output.Trim());
        var loads = await ListLoadsAsync(database);
        Say($"{killed} kills in {took.TotalSeconds:F0} s; accepted calls by the database: {loads.Sum(load => load.Calls!.Answered)}");
        var found = JsonElement.Parse(output);
        Assert.Equal(Kills, killed);
        Assert.True(found.GetProperty("expected").GetInt32() > 0, output);
        Assert.Empty(found.GetProperty("faults").EnumerateObject());
        Assert.All(loads, load => Assert.Equal(0, load.Calls!.Abandoned));
    }

    private async Task<(string Name, int Number, string Secret)> AddClientAsync(HttpClient http, string name, string port)
    {
        var added = JsonElement.Parse(await SucceedAsync(
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

    /// <summary>Returns the number of calls once it exceeds this one; -1 if there will be none.</summary>
    private async Task<int> WaitForCallAsync(SqliteBreachDatabase database, int before)
    {
        var began = Stopwatch.GetTimestamp();
        while (CallsReceived() <= Math.Max(before, 0))
        {
            if (await AreMadeAsync(database))
                return -1;
            await PauseAsync(began, before < 0 ? TestTimeout : LongestQuiet);
        }
        return CallsReceived();
    }

    private int CallsReceived()
    {
        if (!System.IO.File.Exists(File("calls")))
            return 0;
        using var file = new FileStream(File("calls"), FileMode.Open, FileAccess.Read, FileShare.ReadWrite);
        var (buffer, lines) = (new byte[1 << 16], 0);
        for (int read; (read = file.Read(buffer)) > 0;)
            lines += buffer.AsSpan(0, read).Count((byte)'\n');
        return lines;
    }

    private static async Task<bool> AreMadeAsync(SqliteBreachDatabase database)
    {
        var loads = await ListLoadsAsync(database);
        return loads.Count == Breaches.Length
            && loads.All(load => load is { State: LoadState.Done, Calls: { IsSearched: true, Open: 0 } });
    }

    private static Task PauseAsync(long began, TimeSpan longest)
    {
        Assert.True(Stopwatch.GetElapsedTime(began) < longest, $"no call for {longest}");
        return Task.Delay(PollInterval);
    }
}
