using System.Net.Http.Json;
using HibpIngest.Passwords.Releases;

namespace HibpIngest.Integration.Tests.Campaigns;

/// <summary>
/// Submits passwords over HTTP to <c>hibp serve</c> and adds them with <c>hibp run</c>, while both are killed
/// repeatedly and messages are duplicated and reordered. Every range is compared with what a separate script expects
/// (expected-ranges.mjs), before and after a repack.
/// </summary>
public sealed class AppendCampaignTests(ITestOutputHelper output) : Campaign(output)
{
    private const int Prefixes = 512;
    private const int PrefixesPerAppend = 32;
    private const int RowsPerPrefix = 20;
    private const int ConcurrentSenders = 4;
    private const int UnconfirmedEvery = 25;

    private static readonly int ConfirmedAppends = Size(10, 1_000);
    private static readonly int RowsPerAppend = Size(30, 500);
    private static readonly int Kills = Size(2, 20);
    private static readonly TimeSpan LatestMessage = TimeSpan.FromSeconds(3);

    private readonly Lock _lock = new();
    private HibpProcess _serve = null!;
    private HibpProcess _run = null!;
    private int _sentTwice;

    [Fact]
    public async Task Appends_count_once_while_processes_are_killed_and_messages_arrive_twice()
    {
        var random = new Random(Seed);
        int[] prefixes = [.. Enumerable.Range(0, Prefixes).Select(_ => random.Next(HashModes.Ranges)).Distinct()];
        WriteBase(random, prefixes);
        foreach (var mode in HashModes.All)
            await SucceedAsync("passwords", "import", ListOf(mode), "--mode", mode.Name(), "--release", "appended");
        using var account = StorageAccount.Open(Variables["HIBP_STORAGE"], NullLoggerFactory.Instance);
        await account.PasswordAppends.CreateAsync(None);
        var queue = account.Queues.Get(QueueNames.PasswordsAppend);
        await queue.CreateAsync(None);
        _serve = await ServeAsync("--open");
        _run = await StartHostAsync("--roles", "passwords,sweep");

        using var stop = new CancellationTokenSource();
        var began = Stopwatch.GetTimestamp();
        var duplicating = SendTwiceAsync(queue, new Random(Seed + 1), stop.Token);
        var killing = KillAsync(new Random(Seed + 2));
        // A sender keeps its body, and repeats it until it gets a confirmation.
        var bodies = Enumerable.Range(0, ConfirmedAppends + (ConfirmedAppends / UnconfirmedEvery)).Select(number => (
            number, body: Body(random, prefixes, isCounted: number < ConfirmedAppends))).ToList();
        await Parallel.ForEachAsync(bodies, new ParallelOptions { MaxDegreeOfParallelism = ConcurrentSenders }, async (one, token) =>
        {
            var id = (await SendAsync("/ingestion/append", one.body, token)).RootElement.GetProperty("transactionId").GetString()!;
            if (one.number < ConfirmedAppends)
                await SendAsync("/ingestion/append/confirm", JsonSerializer.Serialize(new { transactionId = id }), token);
        });
        var sent = Stopwatch.GetElapsedTime(began);
        await killing;
        // In the short form, time is advanced instead of waiting until messages received by a killed process become visible.
        if (!IsLong)
        {
            using var advanced = OpenPassedTime();
            await advanced.SweepAppendsAsync();
        }
        while (await account.PasswordAppends.ListAsync(None).AnyAsync(one => one.State == AppendState.Confirmed))
            await Task.Delay(PollInterval);
        var added = Stopwatch.GetElapsedTime(began);
        await stop.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => duplicating);
        Say($"{ConfirmedAppends:N0} appends of {RowsPerAppend} rows submitted in {sent.TotalSeconds:F0} s, added after "
            + $"{added.TotalSeconds:F0} s; {_sentTwice:N0} messages sent twice, processes killed {Kills} times");

        var ranges = new ExpectedRanges(Folder.Path, Say);
        var expected = await ranges.ReadAsync(ListOf, [.. prefixes.Select(HashModes.PrefixText)]);
        Say(ExpectedRanges.Head);
        Assert.Equal(0, await CountMismatchesAsync("appended"));
        await SucceedAsync("passwords", "repack");
        Assert.Equal(0, await CountMismatchesAsync("repacked"));

        async Task<int> CountMismatchesAsync(string release)
        {
            await _serve.KillAsync();
            _serve = await ServeAsync("--open");
            return await ranges.AskAsync(_serve.Address, release, expected);
        }
    }

    /// <summary>Kills one of the two processes from time to time, and restarts it.</summary>
    private async Task KillAsync(Random random)
    {
        for (var kill = 0; kill < Kills; kill++)
        {
            await Task.Delay(TimeSpan.FromSeconds(1 + (random.NextDouble() * 3)));
            if (kill % 2 == 0)
            {
                await _run.KillAsync();
                _run = await StartHostAsync("--roles", "passwords,sweep");
            }
            else
            {
                await _serve.KillAsync();
                _serve = await ServeAsync("--open");
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
                    await queue.SendAsync(message.Body, random.NextDouble() * LatestMessage, None);
                await queue.DeleteAsync(message, None);
                _sentTwice++;
            }
            await Task.Delay(PollInterval * 2, cancellationToken);
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
                    new Uri(_serve.Address + path), new StringContent(json, Encoding.UTF8, "application/json"), cancellationToken);
                if (response.StatusCode == HttpStatusCode.OK)
                    return response.Content.Headers.ContentLength == 0 ? JsonDocument.Parse("{}")
                        : (await response.Content.ReadFromJsonAsync<JsonDocument>(cancellationToken))!;
                if (response.StatusCode != HttpStatusCode.ServiceUnavailable)
                    Assert.Fail($"{path}: {(int)response.StatusCode}: {await response.Content.ReadAsStringAsync(cancellationToken)}");
            }
            catch (HttpRequestException)
            {
                // The server was killed; whether it accepted the request is unknown.
            }
            await Task.Delay(PollInterval * 2, cancellationToken);
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
                for (var row = 0; row < RowsPerPrefix; row++)
                    list.WriteLine(Line(random, mode, prefix));
            }
        }
    }

    /// <summary>Makes the body of an append; rows that count are added to the lists that the script reads.</summary>
    private string Body(Random random, int[] prefixes, bool isCounted)
    {
        var own = Enumerable.Range(0, PrefixesPerAppend).Select(_ => prefixes[random.Next(prefixes.Length)]).ToArray();
        var body = new List<object>();
        var lines = HashModes.All.ToDictionary(mode => mode, _ => new List<string>());
        for (var row = 0; row < RowsPerAppend; row++)
        {
            var sha1 = Line(random, HashMode.Sha1, own[random.Next(own.Length)]);
            var ntlm = Line(random, HashMode.Ntlm, own[random.Next(own.Length)]).Split(':')[0];
            // Some bodies repeat a hash.
            if (random.Next(20) == 0 && row > 0)
                sha1 = lines[HashMode.Sha1][random.Next(row)];
            var (hash, count) = (sha1.Split(':')[0], sha1.Split(':')[1]);
            body.Add(new { sha1 = hash, ntlm, num = int.Parse(count) });
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
        return JsonSerializer.Serialize(body);
    }

    private static string Line(Random random, HashMode mode, int prefix) =>
        $"{HashModes.PrefixText(prefix)}{random.GetHexString(mode.SuffixDigits())}:{random.Next(1, 1_000)}";

    private string ListOf(HashMode mode) => File($"{mode.Name()}.txt");
}
