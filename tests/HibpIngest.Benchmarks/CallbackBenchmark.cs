using System.Diagnostics;
using System.Globalization;
using System.Net.Http.Headers;
using System.Security.Cryptography;
using HibpIngest.AzureStorage;
using HibpIngest.Breaches;
using HibpIngest.Clients;
using HibpIngest.Delivery;
using HibpIngest.Errors;
using HibpIngest.Hosting;
using HibpIngest.Hosting.Local;
using HibpIngest.Pipeline;
using HibpIngest.Samples;
using HibpIngest.Sql.Sqlite;
using HibpIngest.Stores;
using HibpIngest.Testing;
using Microsoft.Extensions.Logging.Abstractions;

namespace HibpIngest.Benchmarks;

/// <summary>
/// One client that watches many prefixes, and a breach: hashing and testing in memory; slices looked through, from SQLite into sealed
/// blobs on the emulator; and the calls, with the largest usual cap, to a server that accepts each at once, beside a bare HttpClient that
/// posts as much. The two stages are in a process each, whose memory is looked at after half of it, and at the end.
/// </summary>
internal static class CallbackBenchmark
{
    public const double MostNanoseconds = 700;
    public const double LeastCallsPerSecond = 2_000;

    private const double MostGrowth = 1.2;
    private const int Cap = 64;
    private const int SlicesAtOnce = 24; // as many as a host takes messages
    private const int BareCalls = 50_000;

    /// <summary>Prints what it measures.</summary>
    /// <param name="accounts">Of the breach.</param>
    /// <param name="subscriptions">Drawn at random; some are drawn twice, as addresses of a large service share prefixes.</param>
    /// <param name="calls">Most to be made; 0: all.</param>
    /// <param name="folder">Where the database is.</param>
    public static async Task<CallbackResult> RunAsync(int accounts, int subscriptions, long calls, string folder)
    {
        var watched = Watch(subscriptions);
        var nanoseconds = MeasureHashing(watched);
        await using var emulator = await AzuriteEmulator.StartAsync(
            new AzuriteOptions { DataFolder = Path.Combine(folder, "azurite") }, CancellationToken.None);
        var (file, secret) = (Path.Combine(folder, "callbacks.db"), Convert.ToBase64String(RandomNumberGenerator.GetBytes(32)));
        await using var receiver = await AnsweringReceiver.StartAsync();
        await LoadAsync(file, accounts);
        using (var account = StorageAccount.Open(emulator.ConnectionString, NullLoggerFactory.Instance))
        {
            await using var database = SqliteBreachDatabase.Open(file, TimeProvider.System);
            var context = ContextOf(account, database, file, secret);
            await context.Get<StoreSetup>().EnsureAsync(CancellationToken.None);
            var added = await new ClientOperations(account.Clients, account.Keys, account.Prefixes, context.Keys, TimeProvider.System, true)
                .AddAsync("bench", receiver.Url, false, Cap, CallbackClient.DefaultRpm, CancellationToken.None);
            await account.Prefixes.WriteAsync(added.Client.Number, watched, null, CancellationToken.None);
        }
        var looked = await MeasuredChild.RunAsync("callbacks-look", emulator.ConnectionString, file, secret);
        var made = await MeasuredChild.RunAsync(
            "callbacks-call", emulator.ConnectionString, file, secret, calls.ToString(CultureInfo.InvariantCulture), receiver.Url);

        Say($"| {watched.Count:N0} prefixes of {subscriptions:N0} subscriptions | in s | a second | peak MiB after half | at the end |");
        Say($"| --- | ---: | ---: | ---: | ---: |");
        Say($"| {accounts:N0} accounts looked through | {looked[1]:F1} | {accounts / looked[1]:N0} | {looked[2]:F0} | {looked[3]:F0} |");
        Say($"| {made[0]:N0} calls of {looked[0]:N0} | {made[1]:F1} | {made[0] / made[1]:N0} | {made[2]:F0} | {made[3]:F0} |");
        Say($"a bare HttpClient posts {made[4]:N0} a second: {made[0] / made[1] / made[4]:F2} of it");
        Say($"hashing and testing: {nanoseconds:F0} ns an account at the least");
        return new CallbackResult(
            nanoseconds, made[0] / made[1], made[0] / made[1] / made[4], Math.Max(looked[3] / looked[2], made[3] / made[2]) <= MostGrowth,
            (long)looked[0], (long)made[0], receiver.Calls - BareCalls);
    }

    /// <summary>The measured process that looks through all slices. Tells calls, seconds, and memory twice.</summary>
    public static async Task LookAsync(string connection, string file, string secret)
    {
        using var account = StorageAccount.Open(connection, NullLoggerFactory.Instance);
        await using var database = SqliteBreachDatabase.Open(file, TimeProvider.System);
        var stage = ContextOf(account, database, file, secret).Get<CallClients>();
        var slices = await database.ListCallSlicesAsync(1, CancellationToken.None);
        var (began, done, early) = (Stopwatch.GetTimestamp(), 0, 0.0);
        await Parallel.ForEachAsync(slices, new ParallelOptions { MaxDegreeOfParallelism = SlicesAtOnce }, async (slice, token) =>
        {
            await using var run = await stage.TakeAsync(new CallMessage { Load = slice.Load, Slice = slice.Number }, token);
            await stage.RunAsync(run!, token);
            if (Interlocked.Increment(ref done) == (slices.Count + 1) / 2)
                early = MeasuredChild.PeakMiB();
        });
        var took = Stopwatch.GetElapsedTime(began);
        var load = await database.GetLoadAsync(1, CancellationToken.None);
        if (load is not { Calls.IsLookedThrough: true })
            throw new InvalidOperationException("not all was looked through");
        MeasuredChild.Tell(load.Calls.Open, took.TotalSeconds, early, MeasuredChild.PeakMiB());
    }

    /// <summary>The measured process that calls. Tells calls, seconds, memory twice, and what a bare client posts in a second.</summary>
    public static async Task CallAsync(string connection, string file, string secret, long most, string url)
    {
        using var account = StorageAccount.Open(connection, NullLoggerFactory.Instance);
        await using var database = SqliteBreachDatabase.Open(file, TimeProvider.System);
        var context = ContextOf(account, database, file, secret);
        var stage = context.Get<DeliverCallbacks>();
        var client = (await account.Clients.ListAsync(CancellationToken.None)).Single().Number;
        var all = await AnsweredAsync() is var (_, open) ? most == 0 ? open : Math.Min(most, open) : 0;
        using var end = new CancellationTokenSource();
        var (began, early) = (Stopwatch.GetTimestamp(), 0.0);
        var watching = WatchAsync();
        try
        {
            while (await stage.TakeAsync(new CallbackMessage { Client = client }, end.Token) is { } run)
            {
                await using (run)
                    await stage.RunAsync(run, end.Token);
            }
        }
        catch (OperationCanceledException) when (end.IsCancellationRequested)
        {
            // As many as were asked for.
        }
        var took = Stopwatch.GetElapsedTime(began);
        await end.CancelAsync();
        await watching;
        var (answered, _) = await AnsweredAsync();
        var late = MeasuredChild.PeakMiB();
        await context.Caller.DisposeAsync();
        MeasuredChild.Tell(answered, took.TotalSeconds, early, late, await PostAsync(url));

        async Task<(long Answered, long Open)> AnsweredAsync() =>
            (await database.GetLoadAsync(1, CancellationToken.None))!.Calls is { } calls ? (calls.Answered, calls.Open) : default;

        async Task WatchAsync()
        {
            while (!end.IsCancellationRequested)
            {
                var (answered, _) = await AnsweredAsync();
                if (early == 0 && answered >= all / 2)
                    early = MeasuredChild.PeakMiB();
                if (answered >= all)
                    await end.CancelAsync();
                await Task.Delay(TimeSpan.FromMilliseconds(100));
            }
        }
    }

    /// <summary>As many in flight, of a body as long as most.</summary>
    private static async Task<double> PostAsync(string url)
    {
        using var http = new HttpClient(new SocketsHttpHandler { MaxConnectionsPerServer = Cap });
        var body = new byte["{\"breachName\":\"Bench\",\"hashPrefix\":\"000000\",\"hashSuffixes\":[\"\"]}".Length + 34];
        var (left, began) = (BareCalls, Stopwatch.GetTimestamp());
        await Task.WhenAll(Enumerable.Range(0, Cap).Select(_ => Task.Run(async () =>
        {
            while (Interlocked.Decrement(ref left) >= 0)
            {
                using var request = new HttpRequestMessage(HttpMethod.Post, url) { Content = new ByteArrayContent(body) };
                request.Headers.Authorization = new AuthenticationHeaderValue("Bearer", new string('0', 64));
                using var answer = await http.SendAsync(request);
                answer.EnsureSuccessStatusCode();
            }
        })));
        return BareCalls / Stopwatch.GetElapsedTime(began).TotalSeconds;
    }

    /// <summary>Nanoseconds an account, of a slice as the stage has it: hashed, put in order, and looked up.</summary>
    private static double MeasureHashing(PrefixBitmap watched)
    {
        var accounts = HashedAccounts.Rent(new IngestOptions().SliceRows);
        var samples = new SampleAccounts(1);
        var buffer = new byte[SampleAccounts.MaxBytes];
        for (var next = 0L; !accounts.Accounts.IsFull; next++)
        {
            var account = buffer.AsSpan(0, samples.Write(next, buffer));
            var at = account.IndexOf((byte)'@');
            accounts.Accounts.Add(account[..at], account[(at + 1)..]);
        }
        var least = double.MaxValue;
        // A slice meets it compiled to the end, which takes the runtime a while.
        for (var began = Stopwatch.GetTimestamp(); Stopwatch.GetElapsedTime(began) < TimeSpan.FromSeconds(2);)
        {
            var time = ThreadTime.Of(() =>
            {
                accounts.Hash();
                accounts.Find(watched, null);
            });
            least = Math.Min(least, time.Cpu.TotalNanoseconds / accounts.Accounts.Count);
        }
        return least;
    }

    private static PrefixBitmap Watch(int subscriptions)
    {
        var (watched, random) = (new PrefixBitmap(), new Random(1));
        for (var i = 0; i < subscriptions; i++)
            watched.Set(random.Next(PrefixBitmap.Prefixes), isIn: true);
        return watched;
    }

    /// <summary>A published load of so many rows.</summary>
    private static async Task LoadAsync(string file, int rows)
    {
        await using var database = SqliteBreachDatabase.Open(file, TimeProvider.System);
        await database.UpgradeAsync(CancellationToken.None);
        await database.AddFirstLayoutAsync(new StoreLayout { Id = 1, Ranges = RangesState.Off }, filled: false, CancellationToken.None);
        var load = await BenchmarkLoad.StartMatchingAsync(database, rows);
        var range = new MailOptions().MatchRows;
        for (var after = 0L; after < rows; after += range)
        {
            if (!await database.MatchRowsAsync(load, after, Math.Min(after + range, rows), TimeSpan.FromMinutes(1), CancellationToken.None))
                throw new InvalidOperationException("a range was not matched");
        }
        while (await database.FinishMatchingAsync(load, new MatchEnd(null, Hold: false) { CallsClients = true }, CancellationToken.None)
            == LoadState.Matching)
        {
            // the next step
        }
    }

    private static PipelineParts ContextOf(StorageAccount account, IBreachDatabase database, string file, string secret) =>
        PipelineParts.Of(
            account, database, NotificationSenders.Create($"pickup:{Path.GetDirectoryName(file)}/mail"),
            new TestOptions { Callbacks = { CallLoopback = true } }, NullLoggerFactory.Instance, SecretKeys.Parse(secret));

    private static void Say(FormattableString line) => Console.WriteLine(line.ToString(CultureInfo.InvariantCulture));
}

/// <summary>What was measured.</summary>
/// <param name="Nanoseconds">Of hashing and testing an account.</param>
/// <param name="CallsPerSecond">As accepted.</param>
/// <param name="Share">Of what a bare client posts.</param>
/// <param name="IsFlat">The memory did not grow.</param>
/// <param name="Found">Calls that there were to make.</param>
/// <param name="Made">Those that were accepted, by the database.</param>
/// <param name="Received">Those that came.</param>
internal sealed record CallbackResult(
    double Nanoseconds, double CallsPerSecond, double Share, bool IsFlat, long Found, long Made, long Received)
{
    /// <summary>All of it is as it is to be.</summary>
    public bool Holds =>
        Nanoseconds <= CallbackBenchmark.MostNanoseconds && CallsPerSecond >= CallbackBenchmark.LeastCallsPerSecond && IsFlat;
}
