using System.Net.Sockets;
using HibpIngest.Passwords.Releases;
using HibpIngest.Passwords.Replicas;
using HibpIngest.Passwords.Serving;
using Microsoft.Extensions.Options;

namespace HibpIngest.Integration.Tests.Passwords;

/// <summary>Tests passwords from the nearer of two storage accounts, one of which is stopped, slow, or a release behind.</summary>
public sealed class NearestRangesTests : IAsyncLifetime
{
    private const string Prefix = "5BAA6";

    // The primary serves the new release, the replica still the old one.
    private readonly ClientCorpus _old = new(seed: 51);
    private readonly ClientCorpus _new = new(seed: 52);
    private readonly TestClock _time = TestClock.WithTimersByHand();
    private PasswordRig _primary = null!;

    public async Task InitializeAsync()
    {
        _primary = await PasswordRig.StartAsync();
        await _primary.ImportAsync(_old.Lines(HashMode.Sha1), HashMode.Sha1, "old", [PasswordBackend.Pack, PasswordBackend.Blob]);
        await _primary.ImportAsync(_new.Lines(HashMode.Sha1), HashMode.Sha1, "new", [PasswordBackend.Pack]);
        await _primary.Releases.SwitchAsync(PasswordBackend.Pack, "new", None);
    }

    public Task DisposeAsync()
    {
        _primary.Dispose();
        return Task.CompletedTask;
    }

    [Fact]
    public async Task Stale_replica_serves_its_own_release_until_it_is_switched()
    {
        using var near = await NewReplicaAsync();
        using var ranges = Ranges(near.Stores);
        Assert.Equal(_new.Body(HashMode.Sha1, Prefix), await FindAsync(ranges)); // requests don't wait for the replica's first read
        await ranges.RefreshAsync(None);
        Assert.Equal(_old.Body(HashMode.Sha1, Prefix), await FindAsync(ranges));

        await _primary.CopyAsync(near.Replica, "new");
        await ranges.RefreshAsync(None);
        Assert.Equal(_old.Body(HashMode.Sha1, Prefix), await FindAsync(ranges));
        await near.Releases.SwitchAsync(PasswordBackend.Pack, "new", None);
        await ranges.RefreshAsync(None);
        Assert.Equal(_new.Body(HashMode.Sha1, Prefix), await FindAsync(ranges));
    }

    [Fact]
    public async Task Mode_missing_from_the_replica_is_served_by_the_primary()
    {
        await _primary.ImportAsync(_new.Lines(HashMode.Ntlm), HashMode.Ntlm, "new", [PasswordBackend.Pack]);
        await _primary.Releases.SwitchAsync(PasswordBackend.Pack, "new", None);
        using var near = await NewReplicaAsync();
        using var empty = await PasswordRig.StartAsync();
        foreach (var stores in new[] { near.Stores, empty.Stores })
        {
            using var ranges = Ranges(stores);
            await ranges.RefreshAsync(None);
            Assert.Equal(_new.Body(HashMode.Ntlm, "8846F"), await ranges.ReadTextAsync(HashMode.Ntlm, 0x8846F));
        }
    }

    [Fact]
    public async Task Hanging_replica_costs_the_timeout_and_is_skipped_after_repeated_failures()
    {
        using var near = await NewReplicaAsync();
        var watched = new FaultyBlobs(near.Stores.Blobs);
        using var ranges = Ranges(near.Stores with { Blobs = watched.Port });
        await ranges.RefreshAsync(None);
        watched.Hold();
        var before = watched.Reads;
        foreach (var prefix in Some(NearestHealth.MaxFailures))
        {
            var asked = ranges.ReadTextAsync(HashMode.Sha1, prefix);
            // It waits up to the timeout.
            _time.Advance(Timeout - TimeSpan.FromTicks(1));
            Assert.False(asked.IsCompleted);
            await _time.AdvanceUntilAsync(asked, Timeout);
            Assert.Equal(Body(_new, prefix), await asked);
        }
        // One read per range: requests for the same range share it.
        Assert.Equal(before + Both.Length, watched.Reads);

        // Time stands still from here on.
        foreach (var prefix in Some(2 * NearestHealth.MaxFailures).Skip(NearestHealth.MaxFailures))
            Assert.Equal(Body(_new, prefix), await ranges.ReadTextAsync(HashMode.Sha1, prefix).WaitAsync(Forever));
        Assert.Equal(before + Both.Length, watched.Reads);

        // One request starts a trial, and doesn't wait for it.
        _time.Advance(NearestHealth.TrialEvery);
        foreach (var prefix in Some(3))
            Assert.Equal(Body(_new, prefix), await ranges.ReadTextAsync(HashMode.Sha1, prefix).WaitAsync(Forever));
        watched.Release();
    }

    [Fact]
    public async Task First_response_is_returned_when_both_accounts_were_requested()
    {
        using var near = await NewReplicaAsync();
        var (nearest, primary) = (new FaultyBlobs(near.Stores.Blobs), new FaultyBlobs(_primary.Stores.Blobs));
        using var ranges = Ranges(near.Stores with { Blobs = nearest.Port }, _primary.Stores with { Blobs = primary.Port });
        await ranges.RefreshAsync(None);
        nearest.Hold();
        primary.Hold();
        var asked = ranges.ReadTextAsync(HashMode.Sha1, Some(1).Single());
        var before = primary.Reads;
        _time.Advance(Timeout);
        while (primary.Reads == before)
            await Task.Yield();
        nearest.Release();
        Assert.Equal(Body(_old, Some(1).Single()), await asked);
        primary.Release();
    }

    [Fact]
    public async Task Stopped_replica_is_bypassed_and_used_again_once_it_is_back()
    {
        using var near = await NewReplicaAsync();
        var isDown = false;
        var stores = near.Stores with { Blobs = new FaultyBlobs(near.Stores.Blobs) { IsDown = () => isDown }.Port };
        using var ranges = Ranges(stores);
        await ranges.RefreshAsync(None);
        isDown = true;
        foreach (var prefix in Some(2 * NearestHealth.MaxFailures))
            Assert.Equal(Body(_new, prefix), await ranges.ReadTextAsync(HashMode.Sha1, prefix));

        // A process that starts now doesn't know what the replica serves.
        using var late = Ranges(stores);
        await late.RefreshAsync(None);
        Assert.Equal(_new.Body(HashMode.Sha1, Prefix), await FindAsync(late));

        isDown = false;
        var old = _old.Body(HashMode.Sha1, Prefix);
        // A request doesn't wait for the trial that it starts.
        Assert.Equal(old, await Probe.AskUntilAsync(old, async () =>
        {
            _time.Advance(NearestHealth.TrialEvery);
            var answer = await FindAsync(ranges);
            Assert.Contains(answer, new[] { old, _new.Body(HashMode.Sha1, Prefix) });
            return answer;
        }));
    }

    [Fact]
    public async Task Failure_of_both_accounts_is_an_error()
    {
        using var near = await NewReplicaAsync();
        using var ranges = Ranges(near.Stores);
        await ranges.RefreshAsync(None);
        var prefix = Some(1).Single();
        foreach (var one in new[] { near, _primary })
        {
            await foreach (var name in one.Stores.Blobs.ListAsync("releases/", None))
                await one.Stores.Blobs.DeleteAsync(name, None);
        }
        await Assert.ThrowsAnyAsync<UnavailableException>(async () => await ranges.FindAsync(HashMode.Sha1, prefix, None));
    }

    [Fact]
    public async Task Api_serves_ranges_while_the_nearest_account_accepts_connections_but_never_responds()
    {
        using var silent = new TcpListener(IPAddress.Loopback, 0);
        silent.Start();
        await using var web = await WebRig.StartAsync(
            _primary.Connection,
            passwords: new PasswordOptions { PasswordsNearest = ConnectionStrings.Of($"http://{silent.LocalEndpoint}") });
        var reply = await web.GetAsync($"/range/{Prefix}");
        Assert.Equal((200, _new.Body(HashMode.Sha1, Prefix)), (reply.Status, reply.Text));
    }

    [Fact]
    public async Task Switch_under_load_serves_each_range_from_one_whole_release()
    {
        using var near = await NewReplicaAsync();
        await _primary.CopyAsync(near.Replica, "new");
        var everywhere = new ReplicatedReleases(_primary.Releases, [near.Replica]);
        using var ranges = Ranges(near.Stores, time: TimeProvider.System);
        await ranges.RefreshAsync(None);
        using var stop = new CancellationTokenSource();
        var olds = new int[4];
        var answers = Enumerable.Range(0, olds.Length).Select(number => Task.Run(async () =>
        {
            var prefixes = Some(20 + number);
            for (var i = 0; !stop.IsCancellationRequested; i++)
            {
                var prefix = prefixes[i % prefixes.Length];
                var text = await ranges.ReadTextAsync(HashMode.Sha1, prefix);
                if (text == Body(_old, prefix))
                    Volatile.Write(ref olds[number], olds[number] + 1);
                else
                    Assert.Equal(Body(_new, prefix), text);
            }
        })).ToList();
        for (var i = 0; i < 10 || (olds.Contains(0) && answers.TrueForAll(one => !one.IsCompleted)); i++)
        {
            await everywhere.SwitchAsync(PasswordBackend.Pack, i % 2 == 0 ? "old" : "new", None);
            await ranges.RefreshAsync(None);
        }
        await stop.CancelAsync();
        await Task.WhenAll(answers);
        Assert.DoesNotContain(0, olds);
    }

    /// <summary>In system time: anything longer waits for the standing clock.</summary>
    private static readonly TimeSpan Forever = TimeSpan.FromMinutes(1);

    private static TimeSpan Timeout => new PasswordOptions().PasswordsNearestTimeout;

    private NearestRanges Ranges(PasswordStores nearest, PasswordStores? primary = null, TimeProvider? time = null) => new(
        nearest, primary ?? _primary.Stores, Options.Create(new PasswordOptions { PasswordsCache = 0 }), time ?? _time,
        NullLoggerFactory.Instance);

    /// <summary>Copies the old release, and serves it.</summary>
    private async Task<PasswordRig> NewReplicaAsync()
    {
        var near = await PasswordRig.StartAsync();
        await _primary.CopyAsync(near.Replica, "old");
        await near.Releases.SwitchAsync(PasswordBackend.Pack, "old", None);
        return near;
    }

    /// <summary>Returns numbers of ranges that have rows in both releases, repeating them.</summary>
    private int[] Some(int count) => [.. Enumerable.Range(0, count).Select(number => Both[number % Both.Length])];

    private int[] Both =>
        [.. _old.Ranges(HashMode.Sha1).Where(range => range.Value.Length > 0).Select(range => Convert.ToInt32(range.Key, 16))];

    private static string Body(ClientCorpus corpus, int prefix) => corpus.Body(HashMode.Sha1, HashModes.PrefixText(prefix));

    private static Task<string> FindAsync(NearestRanges ranges) => ranges.ReadTextAsync(HashMode.Sha1, Convert.ToInt32(Prefix, 16));
}
