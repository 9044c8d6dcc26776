using HibpIngest.Api.AccessLog;
using HibpIngest.Api.AccessLog.RollUp;
using HibpIngest.Api.AccessLog.Usage;
using HibpIngest.Storage.Azure.Connections;

namespace HibpIngest.Integration.Tests.AccessLog;

/// <summary>The access log of a storage account of its own, written as processes do; the rig keeps its own counts.</summary>
internal sealed class AccessRig : IDisposable
{
    public static readonly string[] Routes =
        ["/api/v3/breachedaccount/{account}", "/range/{prefix}", "/latestbreach", "(none)", "/api/v3/breach/{name}"];

    private static readonly int[] Statuses = [200, 304, 404, 429, 503];
    private static readonly TimeSpan Visibility = TimeSpan.FromMinutes(5);

    private readonly Random _random;
    private readonly string[] _keys;
    private readonly Dictionary<string, (long Requests, long Bytes, long Microseconds, long Longest)> _expected = [];

    private AccessRig(string connection, int seed)
    {
        Connection = connection;
        Account = StorageAccount.Open(connection, NullLoggerFactory.Instance, new StorageOptions { MaxRetries = 0 });
        _random = new Random(seed);
        _keys = ["", .. Enumerable.Range(0, 4).Select(_ => NewKey())];
    }

    public string Connection { get; }

    public StorageAccount Account { get; }

    /// <summary>The system's time, as in the service's timestamps, advanced to early in an hour, which no test exceeds.</summary>
    public TestClock Clock { get; } = new();

    /// <summary>The lines that Sweep logs.</summary>
    public CollectingLogger Said { get; } = new();

    public IMessageQueue Queue => Account.Queues.Get(QueueNames.AccessRollUp);

    /// <param name="say">Receives the seed.</param>
    public static async Task<AccessRig> StartAsync(Action<string> say)
    {
        var seed = Environment.TickCount;
        say($"seed {seed}");
        var rig = new AccessRig(await AzuriteFixture.NewAccountAsync(), seed);
        var now = rig.Clock.GetUtcNow();
        rig.Clock.Advance(UsageReader.HourOf(now).AddHours(1).AddMinutes(5) - now);
        await rig.Account.AccessLog.CreateAsync(None);
        await rig.Account.Usage.CreateAsync(None);
        await rig.Queue.CreateAsync(None);
        return rig;
    }

    /// <summary>Opens a process that logs; disposing it seals its blob.</summary>
    public GroupCommitLog NewProcess(IAccessBlobs? blobs = null) =>
        new(blobs ?? Account.AccessLog, Routes, 20_000, Clock, NullLogger<GroupCommitLog>.Instance);

    /// <summary>Logs this many requests, spread over two hours.</summary>
    public async Task LogAsync(GroupCommitLog process, int records)
    {
        var now = Clock.GetUtcNow().ToUnixTimeMilliseconds() * 1_000;
        var logged = new List<Task>();
        for (var i = 0; i < records; i++)
        {
            var (route, status) = (_random.Next(Routes.Length), Statuses[_random.Next(Statuses.Length)]);
            var key = _keys[_random.Next(_keys.Length)];
            var at = now - _random.NextInt64(3_600_000_000);
            // Some body lengths are unknown, and some durations exceed a signed 32-bit integer.
            var bytes = _random.Next(5) == 0 ? AccessRecord.UnknownBytes : (uint)_random.Next(100_000);
            var took = _random.Next(50) == 0 ? 4_000_000_000 : (uint)_random.Next(1, 1_000_000);
            logged.Add(process.AppendAsync(new AccessRecord(
                at, took, bytes, key.Length == 0 ? 0 : BitConverter.ToUInt64(Convert.FromHexString(key)), (ushort)route, (ushort)status,
                ClientKind.Other)).AsTask());
            var hour = DateTimeOffset.FromUnixTimeMilliseconds(at / 1_000).ToString("yyyyMMddHH", CultureInfo.InvariantCulture);
            var name = Name(hour, Routes[route], status, key);
            var (requests, all, microseconds, longest) = _expected.GetValueOrDefault(name);
            _expected[name] = (requests + 1, all + (bytes == AccessRecord.UnknownBytes ? 0 : bytes), microseconds + took,
                Math.Max(longest, took));
        }
        await Task.WhenAll(logged);
    }

    /// <summary>Logs from a process that ends normally.</summary>
    public async Task LogAndEndAsync(int records)
    {
        await using var process = NewProcess();
        await LogAsync(process, records);
    }

    public SweepAccessLog NewSweep(
        TimeSpan? keptFor = null, IAccessBlobs? blobs = null, IMessageQueue? queue = null, TimeProvider? time = null) =>
        new(blobs ?? Account.AccessLog, new OneQueue(queue ?? Queue), keptFor, time ?? Clock, Said.For<SweepAccessLog>());

    public RollUpAccess NewRollUp(IAccessBlobs? blobs = null, IUsageTable? usage = null) =>
        new(blobs ?? Account.AccessLog, usage ?? Account.Usage, NullLogger<RollUpAccess>.Instance);

    /// <summary>Receives and deletes all messages of the queue.</summary>
    public async Task<IReadOnlyList<string>> ClaimAsync()
    {
        var bodies = new List<string>();
        while (await Queue.ReceiveAsync(32, Visibility, None) is { Count: > 0 } received)
        {
            foreach (var message in received)
            {
                bodies.Add(message.Body);
                await Queue.DeleteAsync(message, None);
            }
        }
        return bodies;
    }

    /// <summary>Sweeps, and processes the messages.</summary>
    public async Task<IReadOnlyList<string>> SweepAndCountAsync()
    {
        await NewSweep().RunAsync(None);
        var bodies = await ClaimAsync();
        foreach (var body in bodies)
            await NewRollUp().RunAsync(body, None);
        return bodies;
    }

    public ValueTask<List<AccessBlob>> BlobsAsync() => Account.AccessLog.ListAsync(None).ToListAsync();

    /// <summary>Asserts that the rows add up to what was logged.</summary>
    public async Task AssertCountedAsync()
    {
        var found = new Dictionary<string, (long Requests, long Bytes, long Microseconds, long Longest)>();
        var now = Clock.GetUtcNow();
        await foreach (var row in Account.Usage.ReadAsync(now.AddDays(-60), now.AddDays(1), None))
        {
            var name = Name(row.Hour.ToString("yyyyMMddHH", CultureInfo.InvariantCulture), row.Route, row.Status, row.Key);
            var (requests, bytes, microseconds, longest) = found.GetValueOrDefault(name);
            found[name] = (requests + row.Requests, bytes + row.Bytes, microseconds + row.Microseconds,
                Math.Max(longest, row.LongestMicroseconds));
        }
        Assert.Equal(Lines(_expected), Lines(found));
    }

    public void Dispose() => Account.Dispose();

    private string NewKey()
    {
        var bytes = new byte[8];
        _random.NextBytes(bytes);
        return Convert.ToHexStringLower(bytes);
    }

    private static string Name(string hour, string route, int status, string key) =>
        string.Create(CultureInfo.InvariantCulture, $"{hour} {route} {status} {key}");

    private static IEnumerable<string> Lines(
        Dictionary<string, (long Requests, long Bytes, long Microseconds, long Longest)> counts) =>
        counts.Select(one => $"{one.Key}: {one.Value}").Order(StringComparer.Ordinal);
}
