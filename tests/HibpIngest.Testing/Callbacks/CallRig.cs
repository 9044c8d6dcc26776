using HibpIngest.Pipeline.Callbacks;
using HibpIngest.Pipeline.Sweeping;

namespace HibpIngest.Testing;

/// <summary>A pipeline whose callback receivers the test controls. Expected hashes are computed without the product's code.</summary>
internal sealed class CallRig : IAsyncDisposable
{
    public static readonly IEnumerable<int> AllPrefixes = Enumerable.Range(0, PrefixBitmap.Prefixes);

    private readonly TestClock? _clock;
    private readonly StorageAccount _account;

    private CallRig(PipelineRig stores, string secretKey, TestClock? clock)
    {
        (Stores, SecretKey, _clock, _account) = (stores, secretKey, clock, stores.OpenAccount());
        Context = stores.Context with { Caller = Caller };
    }

    public PipelineRig Stores { get; }

    public RecordingCaller Caller { get; } = new();

    /// <summary>The value of HIBP_SECRET_KEY.</summary>
    public string SecretKey { get; }

    /// <summary>The first process on these stores.</summary>
    public PipelineParts Context { get; private set; }

    /// <summary>Starts a pipeline with slices of 40 rows.</summary>
    public static async Task<CallRig> StartAsync(TestClock? clock = null, Action<TestOptions>? configure = null)
    {
        var secretKey = Convert.ToBase64String(RandomNumberGenerator.GetBytes(32));
        var stores = await PipelineRig.StartAsync(
            options =>
            {
                // Ranges are off, because callbacks don't need them.
                (options.Ingest.BatchRows, options.Ingest.SliceRows, options.Callbacks.CallPause, options.Upsert.Ranges) =
                    (100, 40, TimeSpan.FromSeconds(6), RangesMode.Off);
                configure?.Invoke(options);
            },
            clock, secretKey);
        return new CallRig(stores, secretKey, clock);
    }

    /// <summary>Opens another process on the same stores.</summary>
    public PipelineParts OpenContext() => Stores.OpenContext(SecretKey) with { Caller = Caller };

    public async Task RestoreAsync(string backup)
    {
        await Stores.RestoreAsync(backup);
        Context = OpenContext();
    }

    public ClientOperations NewClientOperations() =>
        new(Context.Clients, _account.Keys, Context.Prefixes, Context.Keys, Stores.Time);

    public async Task<NewClient> AddAsync(string name, IEnumerable<int> prefixes, bool isSensitive = false)
    {
        var added = await NewClientOperations().AddAsync(
            name, $"https://{name}.example/called", isSensitive, CallbackClient.DefaultCap, CallbackClient.DefaultRpm, None);
        var bitmap = new PrefixBitmap();
        foreach (var prefix in prefixes)
            bitmap.Set(prefix, true);
        Assert.NotNull(await Context.Prefixes.WriteAsync(added.Client.Number, bitmap, null, None));
        return added;
    }

    /// <summary>Uploads a breach of numbered accounts, as made by <see cref="PipelineRig.Accounts"/>.</summary>
    public Task DropAsync(string breach, int first, int count, string? metadata = null) =>
        Stores.DropAsync($"{breach}.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(first, count))), metadata);

    public Task RunToEndAsync() => PipelineRig.RunToEndAsync(Context);

    /// <summary>Runs Sweep, and processes the messages it sends.</summary>
    public async Task SweepAsync()
    {
        await Context.Get<Sweep>().RunAsync(None);
        await RunToEndAsync();
    }

    /// <summary>Sweeps hour by hour until only the calls of held loads are open.</summary>
    public async Task SettleAsync()
    {
        for (var hours = 0; hours < 20; hours++)
        {
            await SweepAsync();
            if ((await Context.Database.ListLoadsAsync(null, None)).All(load => !load.AwaitsCalls || load.State == LoadState.Held))
                return;
            _clock!.Advance(TimeSpan.FromHours(1));
        }
        Assert.Fail("calls are open yet");
    }

    public async Task<CallProgress> CallsAsync(long load) => (await Stores.LoadAsync(load)).Calls!;

    /// <summary>Returns what a client was notified of, in the format of <see cref="Expect"/>, without repeats.</summary>
    public IReadOnlyList<string> ItemsOf(NewClient client) => Caller.ItemsOf(client.Client.Url);

    /// <summary>Returns breach and hash of each numbered account under a watched prefix, sorted.</summary>
    public static IReadOnlyList<string> Expect(string breach, int first, int count, Func<int, bool>? isWatched = null) =>
        [.. PipelineRig.Expected(first, count).Select(HashOf).Where(hash => isWatched?.Invoke(PrefixOf(hash)) != false)
            .Select(hash => $"{breach} {hash}").Order(StringComparer.Ordinal)];

    public static IEnumerable<int> PrefixesOf(int first, int count) =>
        PipelineRig.Expected(first, count).Select(account => PrefixOf(HashOf(account)));

    /// <summary>Computes the idempotency key as docs/callbacks.md describes it.</summary>
    public static string KeyOf(NewClient client, RecordedCall call) => Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes(
        $"{client.Client.Number}\n{call.Breach}\n{call.Prefix}\n{string.Join(',', call.Suffixes)}")));

    public ValueTask DisposeAsync()
    {
        _account.Dispose();
        return Stores.DisposeAsync();
    }

    private static string HashOf(string account) => Convert.ToHexString(SHA1.HashData(Encoding.ASCII.GetBytes(account)));

    private static int PrefixOf(string hash) => Convert.ToInt32(hash[..6], 16);
}
