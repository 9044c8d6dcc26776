using HibpIngest.Passwords.Releases;
using HibpIngest.Passwords.Replicas;
using HibpIngest.Passwords.Serving;

namespace HibpIngest.Integration.Tests.Passwords;

public sealed class SwitchTests
{
    [Fact]
    public async Task Switch_under_load_serves_each_range_from_one_release_without_an_error()
    {
        var corpora = new Dictionary<string, ClientCorpus> { ["one"] = new(seed: 41), ["two"] = new(seed: 42) };
        using var rig = await PasswordRig.StartAsync();
        foreach (var (release, corpus) in corpora)
            await rig.ImportAsync(corpus, release);
        // Without a cache, so that every response is read.
        using var ranges = rig.Stores.OpenRanges(options: new PasswordOptions { PasswordsCache = 0 });
        var served = new ConcurrentDictionary<string, int>();
        using var stop = new CancellationTokenSource();
        using var answered = new SemaphoreSlim(0);
        var askers = Enumerable.Range(0, 4).Select(asker => Task.Run(async () =>
        {
            var random = new Random(asker);
            while (!stop.IsCancellationRequested)
            {
                var mode = HashModes.All[random.Next(2)];
                var prefixes = corpora["one"].Ranges(mode).Where(range => range.Value.Length > 0).Select(range => range.Key).ToList();
                var prefix = prefixes[random.Next(prefixes.Count)];
                var text = await ranges.ReadTextAsync(mode, Convert.ToInt32(prefix, 16));
                served.AddOrUpdate(
                    corpora.Single(corpus => corpus.Value.Body(mode, prefix) == text).Key, 1, static (_, count) => count + 1);
                answered.Release();
            }
        })).ToList();

        foreach (var backend in PasswordRig.Everywhere.Concat(PasswordRig.Everywhere))
        {
            foreach (var release in corpora.Keys)
            {
                await rig.Releases.SwitchAsync(backend, release, None);
                await ranges.RefreshAsync(None);
                for (var i = 0; i < 20; i++)
                    await await Task.WhenAny(askers.Append(answered.WaitAsync()));
            }
            await new ReplicatedReleases(rig.Releases, []).SwitchBackAsync(None);
            await ranges.RefreshAsync(None);
        }
        await stop.CancelAsync();
        await Task.WhenAll(askers);
        Assert.All(corpora.Keys, release => Assert.InRange(served.GetValueOrDefault(release), 50, int.MaxValue));
    }

    [Fact]
    public async Task Reader_of_a_deleted_release_continues_with_the_served_one()
    {
        using var rig = await PasswordRig.StartAsync();
        var (one, two) = (new ClientCorpus(seed: 41), new ClientCorpus(seed: 42));
        await rig.ImportAsync(one, "one");
        using var ranges = rig.Stores.OpenRanges();
        await ranges.RefreshAsync(None);
        await rig.ImportAsync(two, "two");
        await rig.Releases.DeleteAsync("one", None);
        // It hasn't refreshed since, and finds its pack deleted.
        Assert.Equal(two.Body(HashMode.Sha1, "5BAA6"), await ranges.ReadTextAsync(HashMode.Sha1, 0x5BAA6));
    }

    [Fact]
    public async Task Switch_purges_caches_with_one_call_that_is_retried_before_it_fails()
    {
        var calls = new ConcurrentQueue<string>();
        var failures = 2;
        await using var cache = await LocalServer.StartAsync(async context =>
        {
            using var body = new StreamReader(context.Request.Body);
            calls.Enqueue(
                $"{context.Request.Method} {context.Request.Path} {context.Request.Headers.Authorization} {await body.ReadToEndAsync()}");
            context.Response.StatusCode = Interlocked.Decrement(ref failures) >= 0 ? 500 : 200;
        });
        using var rig = await PasswordRig.StartAsync();
        await rig.ImportAsync(new ClientCorpus(seed: 41), "one");
        using var http = new HttpClient();
        var releases = new PasswordReleases(
            rig.Stores, new PurgeHook(new Uri(cache.Address + "/purge"), "secret", http, NullLogger<PurgeHook>.Instance),
            TimeProvider.System);

        await releases.SwitchAsync(PasswordBackend.Blob, "one", None);
        Assert.Equal(Enumerable.Repeat("""POST /purge Bearer secret {"purge_everything":true}""", 3), calls);

        failures = int.MaxValue;
        var error = await Assert.ThrowsAsync<UnavailableException>(() => releases.SwitchAsync(PasswordBackend.Table, null, None));
        Assert.Contains("HIBP_PURGE_URL answered with status 500", error.Message, StringComparison.Ordinal);
        Assert.Equal(6, calls.Count);
        Assert.Equal(PasswordBackend.Table, (await releases.GetCurrentAsync(None))!.Served.Backend);
    }
}
