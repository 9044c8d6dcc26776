using System.Security.Cryptography;
using System.Text;
using HibpIngest.Breaches;
using HibpIngest.Clients;
using HibpIngest.Errors;
using HibpIngest.Hosting;
using HibpIngest.Pipeline;
using HibpIngest.Stores;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>
/// Clients are called of what they watch and a published breach holds, and of nothing else; what fails is tried again, and delays nobody.
/// What is expected is hashed here, by other means than the product's.
/// </summary>
public sealed class CallbackTests
{
    private static readonly CancellationToken None = CancellationToken.None;
    private static readonly string SecretKey = Convert.ToBase64String(RandomNumberGenerator.GetBytes(32));

    [Fact]
    public async Task Each_client_is_called_of_exactly_what_it_watches_and_the_breach_holds()
    {
        var caller = new RecordingCaller();
        await using var rig = await StartAsync(caller);
        var context = rig.Context with { Caller = caller };
        // One watches half of all prefixes, one those of some accounts, and of others that are in no breach.
        var half = await AddAsync(rig, context, "half", Enumerable.Range(0, PrefixBitmap.Prefixes / 2));
        var few = await AddAsync(
            rig, context, "few",
            PipelineRig.Expected(40, 30).Concat(PipelineRig.Expected(5_000, 50)).Select(account => Prefix(HashOf(account))));
        var nobody = await AddAsync(rig, context, "nobody", []);
        await rig.DropAsync("X.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 400))));
        await rig.DropAsync("Y.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(50, 100))));
        await PipelineRig.RunToEndAsync(context);

        Assert.Equal(
            Expect("X", 0, 400, prefix => prefix < PrefixBitmap.Prefixes / 2)
                .Concat(Expect("Y", 50, 100, prefix => prefix < PrefixBitmap.Prefixes / 2)).Order(StringComparer.Ordinal),
            caller.Told(half.Client.Url));
        var watched = PipelineRig.Expected(40, 30).Select(account => Prefix(HashOf(account))).ToHashSet();
        Assert.Equal(
            Expect("X", 0, 400, watched.Contains).Concat(Expect("Y", 50, 100, watched.Contains)).Order(StringComparer.Ordinal),
            caller.Told(few.Client.Url));
        Assert.Empty(caller.Told(nobody.Client.Url));
        // One prefix a call, each call once, with a key that says what it is, and with the secret that was shown.
        Assert.All(caller.Calls, call => Assert.Equal(
            (call.Url == half.Client.Url ? half.Secret : few.Secret, KeyOf(call.Url == half.Client.Url ? half : few, call)),
            (call.Secret, call.Key)));
        Assert.Equal(caller.Calls.Count, caller.Calls.Select(call => call.Key).Distinct().Count());
        Assert.InRange(caller.MostInFlight, 1, 2 * CallbackClient.DefaultCap);
        Assert.All(await rig.LoadsAsync(), load => Assert.Equal(
            (LoadState.Done, true, 0L, 0L), (load.State, load.Calls!.IsLookedThrough, load.Calls.Open, load.Calls.Dead)));
        Assert.Equal(caller.Calls.Count, (await rig.LoadsAsync()).Sum(load => load.Calls!.Answered));
        Assert.All((await rig.DepthsAsync()).Values, depth => Assert.Equal(0, depth));
        // What was said is kept nowhere.
        Assert.Null(await context.Callbacks.ReadAsync(new CallbackKey(half.Client.Number, 1, 1), None));

        // Nothing changes by everything once more: every slice again, and its messages.
        var before = caller.Calls.Count;
        await context.NewLoadOperations().RequeueSlicesAsync("X", null, failedOnly: false, None);
        await PipelineRig.RunToEndAsync(context);
        await context.Queues.Get(QueueNames.Calls).SendAsync(new CallMessage { Load = 1, Slice = 1 }.ToJson(), TimeSpan.Zero, None);
        await context.Queues.Get(QueueNames.Callbacks).SendAsync(
            new CallbackMessage { Client = half.Client.Number }.ToJson(), TimeSpan.Zero, None);
        await PipelineRig.RunToEndAsync(context);
        Assert.Equal(before, caller.Calls.Count);
    }

    [Fact]
    public async Task What_fails_is_tried_again_under_the_same_key_and_what_doesn_t_is_not()
    {
        var clock = new TestClock();
        var caller = new RecordingCaller();
        await using var rig = await StartAsync(caller, clock);
        var context = rig.Context with { Caller = caller };
        var client = await AddAsync(rig, context, "all", Enumerable.Range(0, PrefixBitmap.Prefixes));
        // By turns, by what the call is of: two in three fail the first time.
        var seen = new HashSet<string>();
        caller.Answer = call =>
        {
            lock (seen)
            {
                return Task.FromResult(!seen.Add(call.Key) || call.Key[0] < '5' ? RecordingCaller.Accepted
                    : call.Key[0] < 'a' ? RecordingCaller.Refused : RecordingCaller.Throttled(TimeSpan.FromMilliseconds(1)));
            }
        };
        await rig.DropAsync("X.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 120))));
        await SettleAsync(rig, context, clock);

        Assert.Equal(Expect("X", 0, 120, _ => true), caller.Told(client.Client.Url));
        Assert.Equal(caller.Taken.Count, caller.Taken.Select(call => call.Key).Distinct().Count());
        Assert.InRange(caller.Calls.GroupBy(call => call.Key).Count(tries => tries.Count() == 2), 1, 120);
        Assert.All(caller.Calls.GroupBy(call => call.Key), tries => Assert.Single(tries.Select(call => call.Body).Distinct()));
    }

    [Fact]
    public async Task One_that_fails_for_three_days_delays_nobody_and_waits_for_an_operator()
    {
        var clock = new TestClock();
        var caller = new RecordingCaller();
        await using var rig = await StartAsync(caller, clock);
        var context = rig.Context with { Caller = caller };
        var down = await AddAsync(rig, context, "down", Enumerable.Range(0, PrefixBitmap.Prefixes));
        var up = await AddAsync(rig, context, "up", Enumerable.Range(0, PrefixBitmap.Prefixes));
        caller.Answer = call => Task.FromResult(call.Url == down.Client.Url ? RecordingCaller.Refused : RecordingCaller.Accepted);
        await rig.DropAsync("X.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 60))));
        await PipelineRig.RunToEndAsync(context);
        Assert.Equal(Expect("X", 0, 60, _ => true), caller.Told(up.Client.Url));

        for (var hours = 0; hours < 71; hours++)
        {
            clock.Advance(TimeSpan.FromHours(1));
            await SweepAsync(rig, context);
        }
        var load = await rig.LoadAsync(1);
        Assert.Equal((60, 0), (load.Calls!.Open, load.Calls.Dead));
        // A client that takes nothing is left alone: it is not asked with all of its calls each time.
        Assert.InRange(caller.Calls.Count(call => call.Url == down.Client.Url), 70, 71 * 30);
        clock.Advance(TimeSpan.FromHours(3));
        await SweepAsync(rig, context);
        load = await rig.LoadAsync(1);
        Assert.Equal((0, 60, 60), (load.Calls!.Open, load.Calls.Dead, load.Calls.Answered));

        var operations = context.NewCallbackOperations();
        var listed = Assert.Single(await operations.ListAsync(None), one => one.Client == "down").Summary;
        Assert.Equal(("X", 60L, 0L, "it answered 500"), (listed.Breach, listed.Dead, listed.Answered, listed.Error));
        caller.Answer = _ => Task.FromResult(RecordingCaller.Accepted);
        Assert.Equal(60, await operations.RetryAsync("down", "X", None));
        await SettleAsync(rig, context, clock);
        Assert.Equal(Expect("X", 0, 60, _ => true), caller.Told(down.Client.Url));
        Assert.Equal(0, await operations.DropAsync(null, null, withOpen: true, None));
    }

    [Fact]
    public async Task One_that_answers_410_is_paused_and_what_it_was_to_be_called_of_is_kept()
    {
        var clock = new TestClock();
        var caller = new RecordingCaller { Answer = _ => Task.FromResult(RecordingCaller.Gone) };
        await using var rig = await StartAsync(caller, clock);
        var context = rig.Context with { Caller = caller };
        var client = await AddAsync(rig, context, "gone", Enumerable.Range(0, PrefixBitmap.Prefixes));
        await rig.DropAsync("X.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 60))));
        await PipelineRig.RunToEndAsync(context);
        Assert.True(Assert.Single(await context.Clients.ListAsync(None)).IsPaused);
        var asked = caller.Calls.Count;
        Assert.InRange(asked, 1, CallbackClient.DefaultCap);
        // Time in which nobody asks it is none in which it failed: what fails when it is back is not given up.
        for (var days = 0; days < 5; days++)
        {
            clock.Advance(TimeSpan.FromDays(1));
            await SweepAsync(rig, context);
        }
        Assert.Equal(asked, caller.Calls.Count);
        caller.Answer = _ => Task.FromResult(RecordingCaller.Refused);
        await ClientsOf(rig, context).SetPausedAsync("gone", false, None);
        clock.Advance(TimeSpan.FromHours(2));
        await SweepAsync(rig, context);
        Assert.True(caller.Calls.Count > asked);
        Assert.Equal((60, 0), ((await rig.LoadAsync(1)).Calls!.Open, (await rig.LoadAsync(1)).Calls!.Dead));
        caller.Answer = _ => Task.FromResult(RecordingCaller.Accepted);
        await SettleAsync(rig, context, clock);
        Assert.Equal(Expect("X", 0, 60, _ => true), caller.Told(client.Client.Url));
    }

    [Theory]
    [InlineData("hold")]
    [InlineData("hide")]
    public async Task What_is_held_or_hidden_is_called_of_when_it_is_released(string how)
    {
        var clock = new TestClock();
        var caller = new RecordingCaller();
        await using var rig = await StartAsync(caller, clock);
        var context = rig.Context with { Caller = caller };
        var client = await AddAsync(rig, context, "all", Enumerable.Range(0, PrefixBitmap.Prefixes));
        // Held by its metadata, and told before the first call what it would be.
        await rig.DropAsync("X.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 300))), """{"notify":"hold"}""");
        await PipelineRig.RunToEndAsync(context);
        await SweepAsync(rig, context);
        Assert.Equal(LoadState.Held, (await rig.LoadAsync(1)).State);
        Assert.Empty(caller.Calls);
        var estimate = Assert.Single(await context.NewPreviewCalls().RunAsync("X", None));
        Assert.Equal((300, true), (estimate.Calls, estimate.IsExact));

        // In mid-way it is stopped again: what is in flight ends, and nothing else is begun behind the next record.
        var (begun, gate) = (0, new SemaphoreSlim(20));
        caller.Answer = async _ =>
        {
            Interlocked.Increment(ref begun);
            await gate.WaitAsync();
            return RecordingCaller.Accepted;
        };
        await context.NewMailOperations().NotifyAsync("X", None);
        var running = PipelineRig.RunToEndAsync(context);
        await WaitUntilAsync(() => Task.FromResult(Volatile.Read(ref begun) == 20 + CallbackClient.DefaultCap));
        if (how == "hold")
            await context.NewMailOperations().HoldAsync("X", None);
        else
            await context.NewBreachOperations().SetHiddenAsync("X", true, None);
        // Of two records the first finds it out, and the second comes behind that.
        foreach (var answered in (int[])[21, 22])
        {
            gate.Release();
            await WaitUntilAsync(async () => (await rig.LoadAsync(1)).Calls!.Answered == answered);
        }
        gate.Release(1_000);
        await running;
        Assert.InRange(caller.Calls.Count, 20 + CallbackClient.DefaultCap, 22 + CallbackClient.DefaultCap);

        if (how == "hold")
            await context.NewMailOperations().NotifyAsync("X", None);
        else
            await context.NewBreachOperations().SetHiddenAsync("X", false, None);
        await SettleAsync(rig, context, clock);
        Assert.Equal(Expect("X", 0, 300, _ => true), caller.Told(client.Client.Url));
        Assert.Equal(300, caller.Calls.Count);
        Assert.Equal(LoadState.Done, (await rig.LoadAsync(1)).State);
    }

    [Fact]
    public async Task Of_a_sensitive_breach_those_are_called_that_were_added_so_and_of_a_retired_one_nobody()
    {
        var caller = new RecordingCaller();
        await using var rig = await StartAsync(caller);
        var context = rig.Context with { Caller = caller };
        await AddAsync(rig, context, "usual", Enumerable.Range(0, PrefixBitmap.Prefixes));
        var sensitive = await AddAsync(rig, context, "sensitive", Enumerable.Range(0, PrefixBitmap.Prefixes), isSensitive: true);
        await rig.DropAsync("S.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 30))), """{"isSensitive":true}""");
        await rig.DropAsync("R.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 30))), """{"isRetired":true}""");
        await PipelineRig.RunToEndAsync(context);
        Assert.Equal(Expect("S", 0, 30, _ => true), caller.Told(sensitive.Client.Url));
        Assert.Equal(30, caller.Calls.Count);
    }

    [Fact]
    public async Task One_that_replaces_another_is_called_of_for_what_that_didn_t_hold()
    {
        var caller = new RecordingCaller();
        await using var rig = await StartAsync(caller);
        var context = rig.Context with { Caller = caller };
        var client = await AddAsync(rig, context, "all", Enumerable.Range(0, PrefixBitmap.Prefixes));
        await rig.DropAsync("X.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 90))));
        await PipelineRig.RunToEndAsync(context);
        caller.Taken.Clear();
        await rig.DropAsync("X.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(60, 90))));
        await PipelineRig.RunToEndAsync(context);
        Assert.Equal(Expect("X", 90, 60, _ => true), caller.Told(client.Client.Url));
    }

    [Fact]
    public async Task A_removed_client_or_breach_is_called_of_no_more_and_leaves_nothing()
    {
        var clock = new TestClock();
        var caller = new RecordingCaller { Answer = _ => Task.FromResult(RecordingCaller.Refused) };
        await using var rig = await StartAsync(caller, clock);
        var context = rig.Context with { Caller = caller };
        var client = await AddAsync(rig, context, "leaves", Enumerable.Range(0, PrefixBitmap.Prefixes));
        var stays = await AddAsync(rig, context, "stays", Enumerable.Range(0, PrefixBitmap.Prefixes));
        await rig.DropAsync("X.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 30))));
        await PipelineRig.RunToEndAsync(context);
        Assert.NotNull(await context.Callbacks.ReadAsync(new CallbackKey(client.Client.Number, 1, 1), None));
        await context.Clients.RemoveAsync(client.Client.Number, None);
        clock.Advance(TimeSpan.FromHours(2));
        await SweepAsync(rig, context);
        Assert.Null(await context.Callbacks.ReadAsync(new CallbackKey(client.Client.Number, 1, 1), None));
        Assert.Equal(30, (await rig.LoadAsync(1)).Calls!.Open);

        await context.NewRemoveBreach().RunAsync("X", null, None);
        Assert.Null(await context.Callbacks.ReadAsync(new CallbackKey(stays.Client.Number, 1, 1), None));
        var calls = caller.Calls.Count;
        clock.Advance(TimeSpan.FromHours(2));
        await SweepAsync(rig, context);
        Assert.Equal(calls, caller.Calls.Count);
        Assert.Empty(await context.NewCallbackOperations().ListAsync(None));
    }

    [Fact]
    public async Task A_host_without_the_secret_key_says_so_and_loses_nothing()
    {
        var clock = new TestClock();
        var caller = new RecordingCaller();
        await using var rig = await StartAsync(caller, clock);
        var context = rig.Context with { Caller = caller };
        var client = await AddAsync(rig, context, "all", Enumerable.Range(0, PrefixBitmap.Prefixes));
        await rig.DropAsync("X.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 30))));
        await PipelineRig.RunToEndAsync(context with { Keys = null });
        Assert.Contains("HIBP_SECRET_KEY", (await rig.LoadAsync(1)).Calls!.Error, StringComparison.Ordinal);
        Assert.Empty(caller.Calls);
        await SettleAsync(rig, context, clock);
        Assert.Equal(Expect("X", 0, 30, _ => true), caller.Told(client.Client.Url));
        Assert.Null((await rig.LoadAsync(1)).Calls!.Error);
    }

    private static Task<PipelineRig> StartAsync(RecordingCaller caller, TimeProvider? clock = null)
    {
        Assert.Empty(caller.Calls);
        return PipelineRig.StartAsync(
            options => (options.BatchRows, options.SliceRows, options.CallPause) = (100, 40, TimeSpan.FromSeconds(6)), clock,
            secretKey: SecretKey);
    }

    private static ClientOperations ClientsOf(PipelineRig rig, PipelineContext context)
    {
        using var account = rig.OpenAccount();
        return new ClientOperations(context.Clients, account.Keys, context.Prefixes, context.Keys, rig.Time);
    }

    private static async Task<NewClient> AddAsync(
        PipelineRig rig, PipelineContext context, string name, IEnumerable<int> prefixes, bool isSensitive = false)
    {
        using var account = rig.OpenAccount();
        var added = await new ClientOperations(account.Clients, account.Keys, account.Prefixes, context.Keys, rig.Time).AddAsync(
            name, $"https://{name}.example/called", isSensitive, CallbackClient.DefaultCap, CallbackClient.DefaultRpm, None);
        var bitmap = new PrefixBitmap();
        foreach (var prefix in prefixes)
            bitmap.Set(prefix, true);
        Assert.NotNull(await context.Prefixes.WriteAsync(added.Client.Number, bitmap, null, None));
        return added;
    }

    /// <summary>An hour later, what is due.</summary>
    private static async Task SweepAsync(PipelineRig rig, PipelineContext context)
    {
        await context.NewSweep().RunAsync(None);
        await PipelineRig.RunToEndAsync(context);
        Assert.NotNull(rig);
    }

    private static async Task SettleAsync(PipelineRig rig, PipelineContext context, TestClock clock)
    {
        for (var hours = 0; hours < 20; hours++)
        {
            await SweepAsync(rig, context);
            if ((await rig.LoadsAsync()).All(load => !load.AwaitsCalls))
                return;
            clock.Advance(TimeSpan.FromHours(1));
        }
        Assert.Fail("calls are open yet");
    }

    private static async Task WaitUntilAsync(Func<Task<bool>> holds)
    {
        while (!await holds())
            await Task.Yield();
    }

    private static string HashOf(string account) => Convert.ToHexString(SHA1.HashData(Encoding.ASCII.GetBytes(account)));

    private static int Prefix(string hash) => Convert.ToInt32(hash[..6], 16);

    private static IReadOnlyList<string> Expect(string breach, int first, int count, Func<int, bool> isWatched) =>
        [.. PipelineRig.Expected(first, count).Select(HashOf).Where(hash => isWatched(Prefix(hash))).Select(hash => $"{breach} {hash}")
            .Order(StringComparer.Ordinal)];

    /// <summary>As docs/callbacks.md says it.</summary>
    private static string KeyOf(NewClient client, RecordedCall call) => Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes(
        $"{client.Client.Number}\n{call.Breach}\n{call.Prefix}\n{string.Join(',', call.Suffixes)}")));
}
