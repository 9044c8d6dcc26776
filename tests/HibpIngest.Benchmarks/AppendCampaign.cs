using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Http.Json;
using System.Text;
using System.Text.Json;
using HibpIngest.Cli.Emulator;
using HibpIngest.Passwords;
using HibpIngest.Passwords.Releases;
using HibpIngest.Storage.Azure;
using Microsoft.Extensions.Logging.Abstractions;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Submits passwords over HTTP to <c>hibp serve</c> and adds them with <c>hibp run</c> on the emulator, while both
/// are killed repeatedly and every other message is sent twice, the second time later. Then compares every range with
/// what a separate script expects (expected-ranges.mjs), before and after a repack.
/// </summary>
internal sealed class AppendCampaign(string folder, Action<string> say)
{
    private const int Prefixes = 512;
    private const int PrefixesOfAppend = 32;
    private const int RowsOfPrefix = 20;
    private const int SendersAtOnce = 4;
    private const int UnconfirmedEvery = 25;
    private const string Release = "appended";

    private static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(500);
    private static readonly TimeSpan LatestMessage = TimeSpan.FromSeconds(3);

    private readonly Dictionary<string, string> _variables = [];
    private readonly Lock _lock = new();
    private Process? _serve;
    private Process? _run;
    private volatile string _address = "";
    private int _twice;
    private int _kills;

    /// <summary>Prints the figures; returns false if a response differs from what is expected.</summary>
    /// <param name="appends">Confirmed transactions.</param>
    /// <param name="rows">Rows per transaction.</param>
    /// <param name="kills">Number of kills.</param>
    /// <param name="seed">Seeds everything random.</param>
    /// <param name="skipsTime">Re-sends messages that a killed process had received, instead of waiting for them.</param>
    public async Task<bool> RunAsync(int appends, int rows, int kills, int seed, bool skipsTime = false)
    {
        say($"seed {seed}");
        var random = new Random(seed);
        int[] prefixes = [.. Enumerable.Range(0, Prefixes).Select(_ => random.Next(HashModes.Ranges)).Distinct()];
        WriteBase(random, prefixes);
        await using var emulator = await AzuriteEmulator.StartAsync(new AzuriteOptions(), CancellationToken.None);
        _variables["HIBP_STORAGE"] = emulator.ConnectionString;
        _variables["HIBP_DATABASE"] = File("campaign.db");
        await using var processes = new CommandProcesses(folder, _variables);
        using var passed = new PassedTime(emulator.ConnectionString, File("campaign.db"));
        foreach (var mode in HashModes.All)
            await processes.RunAsync("passwords", "import", ListOf(mode), "--mode", mode.Name(), "--release", Release);
        using var account = StorageAccount.Open(emulator.ConnectionString, NullLoggerFactory.Instance);
        await account.PasswordAppends.CreateAsync(CancellationToken.None);
        var queue = account.Queues.Get(QueueNames.PasswordsAppend);
        await queue.CreateAsync(CancellationToken.None);
        await StartServeAsync(processes);
        await StartRunAsync(processes);

        using var stop = new CancellationTokenSource();
        var began = Stopwatch.GetTimestamp();
        var mischief = SendTwiceAsync(queue, new Random(seed + 1), stop.Token);
        var killing = KillAsync(processes, new Random(seed + 2), kills, stop.Token);
        // A sender keeps its body, and repeats it until it gets a confirmation.
        var bodies = Enumerable.Range(0, appends + (appends / UnconfirmedEvery)).Select(number => (
            number, body: Body(random, prefixes, rows, isCounted: number < appends))).ToList();
        await Parallel.ForEachAsync(bodies, new ParallelOptions { MaxDegreeOfParallelism = SendersAtOnce }, async (one, token) =>
        {
            var id = (await SendAsync("/ingestion/append", one.body, token)).RootElement.GetProperty("transactionId").GetString()!;
            if (one.number < appends)
                await SendAsync("/ingestion/append/confirm", JsonSerializer.Serialize(new { transactionId = id }), token);
        });
        var sent = Stopwatch.GetElapsedTime(began);
        await killing;
        if (skipsTime)
            await passed.SweepAppendsAsync();
        await UntilAddedAsync(account.PasswordAppends);
        var added = Stopwatch.GetElapsedTime(began);
        await stop.CancelAsync();
        await mischief.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        say(string.Create(
            CultureInfo.InvariantCulture,
            $"{appends:N0} appends of {rows} rows handed in after {sent.TotalSeconds:F0} s, added after {added.TotalSeconds:F0} s; "
            + $"{_twice:N0} messages sent twice, processes killed {_kills} times"));

        say("| what | prefixes | bytes | differences |");
        say("| --- | ---: | ---: | ---: |");
        string[] asked = [.. prefixes.Select(HashModes.PrefixText)];
        var expected = new ExpectedRanges(folder, say);
        var answers = await expected.ReadAsync(ListOf, asked);
        var differences = await AskAfreshAsync(processes, expected, "appended", answers);
        await processes.RunAsync("passwords", "repack");
        differences += await AskAfreshAsync(processes, expected, "repacked", answers);
        return differences == 0;
    }

    private async Task<int> AskAfreshAsync(
        CommandProcesses processes, ExpectedRanges expected, string what, IReadOnlyList<ExpectedRange> answers)
    {
        await EndAsync(_serve);
        await StartServeAsync(processes);
        return await expected.AskAsync(_address, what, answers);
    }

    private async Task StartServeAsync(CommandProcesses processes)
    {
        _serve = processes.Start("serve", "--open", "--urls", "http://127.0.0.1:0");
        _address = (await CommandProcesses.SaysAsync(_serve, "API:"))["API:".Length..].Trim();
    }

    private async Task StartRunAsync(CommandProcesses processes)
    {
        _run = processes.Start("run", "--roles", "passwords,sweep");
        await CommandProcesses.SaysAsync(_run, "ready");
    }

    private static async Task EndAsync(Process? process)
    {
        process!.Kill();
        await process.WaitForExitAsync();
    }

    /// <summary>Kills one of the two processes from time to time, and restarts it.</summary>
    private async Task KillAsync(CommandProcesses processes, Random random, int kills, CancellationToken cancellationToken)
    {
        for (; _kills < kills; _kills++)
        {
            await Task.Delay(TimeSpan.FromSeconds(1 + (random.NextDouble() * 3)), cancellationToken);
            if (_kills % 2 == 0)
            {
                await EndAsync(_run);
                await StartRunAsync(processes);
            }
            else
            {
                await EndAsync(_serve);
                await StartServeAsync(processes);
            }
        }
    }

    /// <summary>Receives messages, and sends each of them twice, later and in another order.</summary>
    private async Task SendTwiceAsync(IMessageQueue queue, Random random, CancellationToken cancellationToken)
    {
        while (true)
        {
            foreach (var message in await queue.ReceiveAsync(8, TimeSpan.FromMinutes(1), cancellationToken))
            {
                for (var copy = 0; copy < 2; copy++)
                    await queue.SendAsync(message.Body, random.NextDouble() * LatestMessage, CancellationToken.None);
                await queue.DeleteAsync(message, CancellationToken.None);
                _twice++;
            }
            await Task.Delay(PollInterval, cancellationToken);
        }
    }

    private async Task<JsonDocument> SendAsync(string path, string json, CancellationToken cancellationToken)
    {
        using var client = new HttpClient();
        while (true)
        {
            try
            {
                using var response = await client.PostAsync(
                    new Uri(_address + path), new StringContent(json, Encoding.UTF8, "application/json"), cancellationToken);
                if (response.StatusCode == HttpStatusCode.OK)
                    return response.Content.Headers.ContentLength == 0 ? JsonDocument.Parse("{}")
                        : (await response.Content.ReadFromJsonAsync<JsonDocument>(cancellationToken))!;
                if (response.StatusCode != HttpStatusCode.ServiceUnavailable)
                    throw new InvalidOperationException($"{path}: {(int)response.StatusCode}: "
                        + await response.Content.ReadAsStringAsync(cancellationToken));
            }
            catch (HttpRequestException)
            {
                // It was killed: whether this was accepted is unknown.
            }
            await Task.Delay(PollInterval, cancellationToken);
        }
    }

    private static async Task UntilAddedAsync(IPasswordAppends appends)
    {
        while (true)
        {
            var waiting = 0;
            await foreach (var one in appends.ListAsync(CancellationToken.None))
                waiting += one.State == AppendState.Confirmed ? 1 : 0;
            if (waiting == 0)
                return;
            await Task.Delay(PollInterval);
        }
    }

    private void WriteBase(Random random, int[] prefixes)
    {
        foreach (var mode in HashModes.All)
        {
            using var list = new StreamWriter(ListOf(mode));
            // Some ranges are empty.
            foreach (var prefix in prefixes.Where(_ => random.Next(8) > 0))
            {
                for (var row = 0; row < RowsOfPrefix; row++)
                    list.WriteLine(Line(random, mode, prefix));
            }
        }
    }

    /// <summary>Makes the body of an append; rows that count are added to the lists that the script reads.</summary>
    private string Body(Random random, int[] prefixes, int rows, bool isCounted)
    {
        var (body, own) = (new StringBuilder("["), Enumerable.Range(0, PrefixesOfAppend).Select(_ => prefixes[random.Next(prefixes.Length)])
            .ToArray());
        var lines = HashModes.All.ToDictionary(mode => mode, _ => new List<string>());
        for (var row = 0; row < rows; row++)
        {
            var (sha1, ntlm) = (Line(random, HashMode.Sha1, own[random.Next(own.Length)]), Line(
                random, HashMode.Ntlm, own[random.Next(own.Length)]).Split(':')[0]);
            // Some bodies repeat a hash.
            if (random.Next(20) == 0 && row > 0)
                sha1 = lines[HashMode.Sha1][random.Next(row)];
            var (hash, count) = (sha1.Split(':')[0], sha1.Split(':')[1]);
            body.Append(row == 0 ? "" : ",").Append(
                CultureInfo.InvariantCulture, $$"""{"sha1":"{{hash}}","ntlm":"{{ntlm}}","num":{{count}}}""");
            lines[HashMode.Sha1].Add(sha1);
            lines[HashMode.Ntlm].Add($"{ntlm}:{count}");
        }
        if (isCounted)
        {
            lock (_lock)
            {
                foreach (var (mode, added) in lines)
                    System.IO.File.AppendAllLines(ListOf(mode), added);
            }
        }
        return body.Append(']').ToString();
    }

    private static string Line(Random random, HashMode mode, int prefix) => string.Create(
        CultureInfo.InvariantCulture,
        $"{HashModes.PrefixText(prefix)}{random.GetHexString(mode.SuffixDigits())}:{random.Next(1, 1_000)}");

    private string ListOf(HashMode mode) => File($"{mode.Name()}.txt");

    private string File(string name) => Path.Combine(folder, name);
}
