using System.Net.Http.Headers;
using HibpIngest.Cli.Emulator;
using HibpIngest.Cli.Samples;
using HibpIngest.Delivery;
using HibpIngest.Pipeline.Callbacks;
using HibpIngest.Pipeline.Messaging;
using HibpIngest.Pipeline.Settings;
using HibpIngest.Pipeline.Setup;
using Microsoft.AspNetCore.Http;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Measures one client that watches many prefixes, and a breach: hashing and testing in memory; evaluating slices,
/// from SQLite into sealed blobs on the emulator; and the calls, with the largest usual cap, to a server that accepts
/// each at once, compared with a bare HttpClient that posts as much. Each of the two stages has a process of its own,
/// whose memory is read half-way and at the end.
/// </summary>
internal static class CallbackBenchmark
{
    private const double MaxNanoseconds = 700;
    private const double LeastCallsPerSecond = 2_000;
    private const double MaxGrowth = 1.2;
    private const int Cap = 64;
    private const int SlicesAtOnce = 24; // as many messages as a host processes at once
    private const int BareCalls = 50_000;

    /// <summary>Prints the figures; returns whether all requirements are met.</summary>
    /// <param name="accounts">Accounts of the breach.</param>
    /// <param name="subscriptions">Watched prefixes, drawn at random with repeats, as addresses of a large service
    /// share prefixes.</param>
    /// <param name="calls">The most calls to make; 0: all.</param>
    /// <param name="folder">The database's folder.</param>
    public static async Task<bool> RunAsync(int accounts, int subscriptions, long calls, string folder)
    {
        var watched = Watch(subscriptions);
        var nanoseconds = MeasureHashing(watched);
        await using var emulator = await AzuriteEmulator.StartAsync(
            new AzuriteOptions { DataFolder = Path.Combine(folder, "azurite") }, CancellationToken.None);
        var (file, secret) = (Path.Combine(folder, "callbacks.db"), Convert.ToBase64String(RandomNumberGenerator.GetBytes(32)));
        var received = 0L;
        await using var receiver = await LocalServer.StartAsync(context =>
        {
            Interlocked.Increment(ref received);
            context.Response.StatusCode = StatusCodes.Status204NoContent;
            return Task.CompletedTask;
        });
        await LoadAsync(file, accounts);
        using (var account = StorageAccount.Open(emulator.ConnectionString, NullLoggerFactory.Instance))
        {
            await using var database = SqliteBreachDatabase.Open(file, TimeProvider.System);
            var context = ContextOf(account, database, file, secret);
            await context.Get<StoreSetup>().EnsureAsync(CancellationToken.None);
            var added = await new ClientOperations(account.Clients, account.Keys, account.Prefixes, context.Keys, TimeProvider.System, true)
                .AddAsync("bench", receiver.Address, false, Cap, CallbackClient.DefaultRpm, CancellationToken.None);
            await account.Prefixes.WriteAsync(added.Client.Number, watched, null, CancellationToken.None);
        }
        var looked = await MeasuredChild.RunAsync("callbacks-look", emulator.ConnectionString, file, secret);
        var made = await MeasuredChild.RunAsync(
            "callbacks-call", emulator.ConnectionString, file, secret, $"{calls}", receiver.Address);

        Console.WriteLine(
            $"| {watched.Count:N0} prefixes of {subscriptions:N0} subscriptions | in s | a second | peak MiB after half | at the end |");
        Console.WriteLine($"| --- | ---: | ---: | ---: | ---: |");
        Console.WriteLine(
            $"| {accounts:N0} accounts looked through | {looked[1]:F1} | {accounts / looked[1]:N0} | {looked[2]:F0} | {looked[3]:F0} |");
        Console.WriteLine(
            $"| {made[0]:N0} calls of {looked[0]:N0} | {made[1]:F1} | {made[0] / made[1]:N0} | {made[2]:F0} | {made[3]:F0} |");
        Console.WriteLine($"a bare HttpClient posts {made[4]:N0} a second: {made[0] / made[1] / made[4]:F2} of it");
        Console.WriteLine($"hashing and testing: {nanoseconds:F0} ns an account at the least");
        var isFlat = Math.Max(looked[3] / looked[2], made[3] / made[2]) <= MaxGrowth;
        var isComplete = (calls > 0 || made[0] == looked[0]) && received - BareCalls == made[0];
        if (!isComplete)
            Console.WriteLine($"of {looked[0]:N0} calls, {made[0]:N0} were accepted and {received - BareCalls:N0} received");
        return nanoseconds <= MaxNanoseconds && made[0] / made[1] >= LeastCallsPerSecond && isFlat && isComplete;
    }

    /// <summary>Evaluates all slices in a measured process. Reports calls, seconds, and memory twice.</summary>
    public static async Task LookAsync(string connection, string file, string secret)
    {
        using var account = StorageAccount.Open(connection, NullLoggerFactory.Instance);
        await using var database = SqliteBreachDatabase.Open(file, TimeProvider.System);
        var stage = ContextOf(account, database, file, secret).Get<CallClients>();
        var slices = await database.ListCallSlicesAsync(new(1), CancellationToken.None);
        var (began, done, early) = (Stopwatch.GetTimestamp(), 0, 0.0);
        await Parallel.ForEachAsync(slices, new ParallelOptions { MaxDegreeOfParallelism = SlicesAtOnce }, async (slice, token) =>
        {
            await using var run = await stage.ClaimAsync(new CallbackSliceMessage { Load = slice.Load.Value, Slice = slice.Number }, token);
            await stage.RunAsync(run!, token);
            if (Interlocked.Increment(ref done) == (slices.Count + 1) / 2)
                early = MeasuredChild.PeakMiB();
        });
        var took = Stopwatch.GetElapsedTime(began);
        var load = await database.GetLoadAsync(new(1), CancellationToken.None);
        if (load is not { Calls.IsSearched: true })
            throw new InvalidOperationException("not all was looked through");
        MeasuredChild.Report(load.Calls.Open, took.TotalSeconds, early, MeasuredChild.PeakMiB());
    }

    /// <summary>
    /// Makes the calls in a measured process. Reports calls, seconds, memory twice, and a bare client's posts per
    /// second.
    /// </summary>
    public static async Task CallAsync(string connection, string file, string secret, long limit, string url)
    {
        using var account = StorageAccount.Open(connection, NullLoggerFactory.Instance);
        await using var database = SqliteBreachDatabase.Open(file, TimeProvider.System);
        var context = ContextOf(account, database, file, secret);
        var stage = context.Get<DeliverCallbacks>();
        var client = (await account.Clients.ListAsync(CancellationToken.None)).Single().Number;
        var all = await AnsweredAsync() is var (_, open) ? limit == 0 ? open : Math.Min(limit, open) : 0;
        using var end = new CancellationTokenSource();
        var (began, early) = (Stopwatch.GetTimestamp(), 0.0);
        var watching = WatchAsync();
        try
        {
            while (await stage.ClaimAsync(new CallbackMessage { Client = client }, end.Token) is { } run)
            {
                await using (run)
                    await stage.RunAsync(run, end.Token);
            }
        }
        catch (OperationCanceledException) when (end.IsCancellationRequested)
        {
            // The requested number of calls was made.
        }
        var took = Stopwatch.GetElapsedTime(began);
        await end.CancelAsync();
        await watching;
        var (answered, _) = await AnsweredAsync();
        var late = MeasuredChild.PeakMiB();
        await context.Caller.DisposeAsync();
        MeasuredChild.Report(answered, took.TotalSeconds, early, late, await PostAsync(url));

        async Task<(long Answered, long Open)> AnsweredAsync() =>
            (await database.GetLoadAsync(new(1), CancellationToken.None))!.Calls is { } calls ? (calls.Answered, calls.Open) : default;

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

    /// <summary>Posts with the same number in flight and a typical body length; returns posts per second.</summary>
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

    /// <summary>Returns the nanoseconds per account for hashing, sorting and looking up a slice as the stage does.</summary>
    private static double MeasureHashing(PrefixBitmap watched)
    {
        var accounts = HashedAccounts.Rent(new IngestOptions().SliceRows);
        var samples = new SampleAccounts(1);
        for (var next = 0L; !accounts.Accounts.IsFull; next++)
            accounts.Accounts.Add(samples, next);
        var least = double.MaxValue;
        // Until tiered compilation has finished, as in a running host.
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

    /// <summary>Makes a published load of this many rows.</summary>
    private static async Task LoadAsync(string file, int rows)
    {
        await using var database = SqliteBreachDatabase.Open(file, TimeProvider.System);
        await database.UpgradeAsync(CancellationToken.None);
        await database.AddFirstLayoutAsync(
            new StoreLayout { Id = 1, Ranges = RangesState.Off }, isFromRegister: false, CancellationToken.None);
        var load = await PreparedLoad.StartMatchingAsync(database, rows);
        var range = new MailOptions().MatchRows;
        for (var after = 0L; after < rows; after += range)
        {
            if (!await database.MatchRowsAsync(load, after, Math.Min(after + range, rows), TimeSpan.FromMinutes(1), CancellationToken.None))
                throw new InvalidOperationException("a range was not matched");
        }
        while (await database.FinishMatchingAsync(load, new MatchEnd(null, Hold: false) { CallsClients = true }, CancellationToken.None)
            == LoadState.Matching)
        {
            // The next step.
        }
    }

    private static PipelineParts ContextOf(StorageAccount account, IBreachDatabase database, string file, string secret) =>
        PipelineParts.Of(
            account, database, NotificationSenders.Create($"pickup:{Path.GetDirectoryName(file)}/mail"),
            new TestOptions { Callbacks = { CallLoopback = true } }, NullLoggerFactory.Instance, SecretKeys.Parse(secret));
}
