using HibpIngest.Pipeline.Callbacks;
using HibpIngest.Pipeline.Catalogue;
using HibpIngest.Pipeline.Mail;
using HibpIngest.Pipeline.Messaging;
using HibpIngest.Pipeline.People;
using HibpIngest.Pipeline.Recovery;
using HibpIngest.Pipeline.Removal;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>
/// Tests that clients are called for the watched accounts of a published breach and for nothing else, and that a
/// failing client is retried without delaying others. Expected hashes are computed without the product's code.
/// </summary>
public sealed class CallbackTests
{
    private readonly TestClock _clock = new();

    [Theory]
    [InlineData(OptOutLevel.Public)]
    [InlineData(OptOutLevel.All)]
    public async Task Clients_are_not_called_for_hidden_accounts(OptOutLevel level)
    {
        await using var rig = await CallRig.StartAsync();
        var all = await rig.AddAsync("all", CallRig.AllPrefixes);
        var hidden = PipelineRig.Expected(7, 1).Single().Split('@');
        await (rig.Context with { SuppressionKey = SuppressionKey.Parse(Convert.ToBase64String(new byte[32])) })
            .Get<OptOutOperations>().SetAsync(new OptOut(new Account(hidden[0], hidden[1]), level), None);
        await rig.DropAsync("X", 0, 20);
        await rig.RunToEndAsync();
        Assert.Equal(CallRig.Expect("X", 0, 20).Except(CallRig.Expect("X", 7, 1)), rig.ItemsOf(all));
    }

    [Fact]
    public async Task Clients_are_called_exactly_for_the_watched_accounts_in_each_breach()
    {
        await using var rig = await CallRig.StartAsync();
        // One client watches half of all prefixes, another those of some accounts in the breach and of some that aren't.
        var half = await rig.AddAsync("half", Enumerable.Range(0, PrefixBitmap.Prefixes / 2));
        var few = await rig.AddAsync("few", [.. CallRig.PrefixesOf(40, 30), .. CallRig.PrefixesOf(5_000, 50)]);
        var idle = await rig.AddAsync("nobody", []);
        await rig.DropAsync("X", 0, 400);
        await rig.DropAsync("Y", 50, 100);
        await rig.RunToEndAsync();

        Assert.Equal(
            CallRig.Expect("X", 0, 400, prefix => prefix < PrefixBitmap.Prefixes / 2)
                .Concat(CallRig.Expect("Y", 50, 100, prefix => prefix < PrefixBitmap.Prefixes / 2)).Order(StringComparer.Ordinal),
            rig.ItemsOf(half));
        var watched = CallRig.PrefixesOf(40, 30).ToHashSet();
        Assert.Equal(
            CallRig.Expect("X", 0, 400, watched.Contains).Concat(CallRig.Expect("Y", 50, 100, watched.Contains))
                .Order(StringComparer.Ordinal),
            rig.ItemsOf(few));
        Assert.Empty(rig.ItemsOf(idle));
        // One prefix per call, each call once, with its idempotency key and the secret that was shown.
        Assert.All(rig.Caller.Calls, call => Assert.Equal(
            (call.Url == half.Client.Url ? half.Secret : few.Secret, CallRig.KeyOf(call.Url == half.Client.Url ? half : few, call)),
            (call.Secret, call.Key)));
        Assert.Equal(rig.Caller.Calls.Count, rig.Caller.Calls.Select(call => call.Key).Distinct().Count());
        Assert.InRange(rig.Caller.MaxInFlight, 1, 2 * CallbackClient.DefaultCap);
        Assert.All(await rig.Stores.LoadsAsync(), load => Assert.Equal(
            (LoadState.Done, true, 0L, 0L), (load.State, load.Calls!.IsSearched, load.Calls.Open, load.Calls.Abandoned)));
        Assert.Equal(rig.Caller.Calls.Count, (await rig.Stores.LoadsAsync()).Sum(load => load.Calls!.Answered));
        Assert.All((await rig.Stores.DepthsAsync()).Values, depth => Assert.Equal(0, depth));
        // Delivered content is deleted.
        Assert.Null(await rig.Context.Callbacks.ReadAsync(new CallbackKey(half.Client.Number, new(1), 1), None));

        // Repeating every slice and its messages changes nothing.
        var before = rig.Caller.Calls.Count;
        await rig.Context.Get<RequeueSlices>().RunAsync("X", null, failedOnly: false, None);
        await rig.RunToEndAsync();
        await rig.Context.Queues.SendAsync(new CallbackSliceMessage { Load = 1, Slice = 1 }, TimeSpan.Zero, None);
        await rig.Context.Queues.SendAsync(new CallbackMessage { Client = half.Client.Number }, TimeSpan.Zero, None);
        await rig.RunToEndAsync();
        Assert.Equal(before, rig.Caller.Calls.Count);
    }

    [Fact]
    public async Task Failed_calls_are_retried_with_the_same_key_and_accepted_ones_are_not()
    {
        // Pauses between the calls of one turn are in real time.
        await using var rig = await CallRig.StartAsync(_clock, options => options.Callbacks.CallPause = TimeSpan.FromMilliseconds(50));
        var client = await rig.AddAsync("all", CallRig.AllPrefixes);
        // Depends on the call's content: two in three fail the first time.
        var seen = new HashSet<string>();
        rig.Caller.Answer = call =>
        {
            lock (seen)
            {
                return Task.FromResult(!seen.Add(call.Key) || call.Key[0] < '5' ? RecordingCaller.Accepted
                    : call.Key[0] < 'a' ? RecordingCaller.Refused : RecordingCaller.Throttled(TimeSpan.FromMilliseconds(1)));
            }
        };
        await rig.DropAsync("X", 0, 120);
        await rig.SettleAsync();

        Assert.Equal(CallRig.Expect("X", 0, 120), rig.ItemsOf(client));
        Assert.Equal(rig.Caller.Taken.Count, rig.Caller.Taken.Select(call => call.Key).Distinct().Count());
        Assert.InRange(rig.Caller.Calls.GroupBy(call => call.Key).Count(tries => tries.Count() == 2), 1, 120);
        Assert.All(rig.Caller.Calls.GroupBy(call => call.Key), tries => Assert.Single(tries.Select(call => call.Body).Distinct()));
    }

    [Fact]
    public async Task Client_that_fails_for_three_days_delays_no_other_and_waits_for_an_operator()
    {
        await using var rig = await CallRig.StartAsync(_clock);
        var down = await rig.AddAsync("down", CallRig.AllPrefixes);
        var up = await rig.AddAsync("up", CallRig.AllPrefixes);
        rig.Caller.Answer = call => Task.FromResult(call.Url == down.Client.Url ? RecordingCaller.Refused : RecordingCaller.Accepted);
        await rig.DropAsync("X", 0, 60);
        await rig.RunToEndAsync();
        Assert.Equal(CallRig.Expect("X", 0, 60), rig.ItemsOf(up));

        await SweepAsync(rig, 71, TimeSpan.FromHours(1));
        var load = await rig.Stores.LoadAsync(1);
        Assert.Equal((60, 0), (load.Calls!.Open, load.Calls.Abandoned));
        // A client that rejects everything is backed off: it doesn't get all of its calls each time.
        Assert.InRange(rig.Caller.Calls.Count(call => call.Url == down.Client.Url), 70, 71 * 30);
        await SweepAsync(rig, 3, TimeSpan.FromHours(1));
        load = await rig.Stores.LoadAsync(1);
        Assert.Equal((0, 60, 60), (load.Calls!.Open, load.Calls.Abandoned, load.Calls.Answered));

        var operations = rig.Context.Get<CallbackOperations>();
        var listed = Assert.Single(await operations.ListAsync(None), one => one.Client == "down").Summary;
        Assert.Equal(("X", 60L, 0L, "it answered 500"), (listed.Breach, listed.Abandoned, listed.Answered, listed.Error));
        rig.Caller.Answer = _ => Task.FromResult(RecordingCaller.Accepted);
        Assert.Equal((60, 0), await operations.RetryAsync("down", "X", None));
        await rig.SettleAsync();
        Assert.Equal(CallRig.Expect("X", 0, 60), rig.ItemsOf(down));
        Assert.Equal(0, await operations.DropAsync(null, null, withOpen: true, None));
    }

    [Fact]
    public async Task Message_that_arrives_before_its_client_may_be_called_is_deferred()
    {
        await using var rig = await CallRig.StartAsync(_clock);
        var client = await rig.AddAsync("asks", CallRig.AllPrefixes);
        rig.Caller.Answer = _ => Task.FromResult(RecordingCaller.Throttled(TimeSpan.FromMinutes(5)));
        await rig.DropAsync("X", 0, 30);
        await rig.RunToEndAsync();
        var asked = rig.Caller.Calls.Count;
        var queue = rig.Context.Queues.Get(QueueNames.Callbacks);
        await queue.ClearAsync(None);
        await rig.Context.Queues.SendAsync(new CallbackMessage { Client = client.Client.Number }, TimeSpan.Zero, None);
        await rig.RunToEndAsync();
        Assert.Equal((asked, 1), (rig.Caller.Calls.Count, (await queue.GetDepthAsync(None)).Messages));
        _clock.Advance(TimeSpan.FromMinutes(5));
        rig.Caller.Answer = _ => Task.FromResult(RecordingCaller.Accepted);
        await rig.SettleAsync();
        Assert.Equal(CallRig.Expect("X", 0, 30), rig.ItemsOf(client));
    }

    [Fact]
    public async Task Client_that_answers_410_is_paused_and_its_calls_are_kept()
    {
        await using var rig = await CallRig.StartAsync(_clock);
        rig.Caller.Answer = _ => Task.FromResult(RecordingCaller.Gone);
        var client = await rig.AddAsync("gone", CallRig.AllPrefixes);
        await rig.DropAsync("X", 0, 60);
        await rig.RunToEndAsync();
        Assert.True(Assert.Single(await rig.Context.Clients.ListAsync(None)).IsPaused);
        var asked = rig.Caller.Calls.Count;
        Assert.InRange(asked, 1, CallbackClient.DefaultCap);
        // Otherwise its load is done, and no sweep asks the database because of it.
        await rig.SweepAsync();
        Assert.Empty(await rig.Context.Register.ListOpenAsync(None));
        // Time without attempts doesn't count as failing: calls that fail afterwards aren't given up.
        await SweepAsync(rig, 5, TimeSpan.FromDays(1));
        Assert.Equal(asked, rig.Caller.Calls.Count);
        rig.Caller.Answer = _ => Task.FromResult(RecordingCaller.Refused);
        await rig.Context.Get<CallbackOperations>().ResumeAsync(rig.NewClientOperations(), "gone", None);
        await SweepAsync(rig, 1, TimeSpan.FromHours(2));
        Assert.True(rig.Caller.Calls.Count > asked);
        Assert.Equal((60, 0), ((await rig.CallsAsync(1)).Open, (await rig.CallsAsync(1)).Abandoned));
        rig.Caller.Answer = _ => Task.FromResult(RecordingCaller.Accepted);
        await rig.SettleAsync();
        Assert.Equal(CallRig.Expect("X", 0, 60), rig.ItemsOf(client));
    }

    [Theory]
    [InlineData("hold")]
    [InlineData("hide")]
    public async Task Holding_or_hiding_a_breach_stops_its_calls_until_it_is_released(string how)
    {
        await using var rig = await CallRig.StartAsync(_clock);
        var client = await rig.AddAsync("all", CallRig.AllPrefixes);
        // The load is held by its metadata, and the number of calls is known before the first one.
        await rig.DropAsync("X", 0, 300, """{"notify":"hold"}""");
        await rig.RunToEndAsync();
        await rig.SweepAsync();
        Assert.Equal(LoadState.Held, (await rig.Stores.LoadAsync(1)).State);
        Assert.Empty(rig.Caller.Calls);
        var estimate = Assert.Single(await rig.Context.Get<PreviewCalls>().RunAsync("X", None));
        Assert.Equal((300, true), (estimate.Calls, estimate.IsExact));

        // Stopped midway: calls in flight finish, and none starts after the next record.
        var (begun, gate) = (0, new SemaphoreSlim(20));
        rig.Caller.Answer = async _ =>
        {
            Interlocked.Increment(ref begun);
            await gate.WaitAsync();
            return RecordingCaller.Accepted;
        };
        await rig.Context.Get<MailOperations>().NotifyAsync("X", None);
        var running = rig.RunToEndAsync();
        await Functions.Eventually.IsSoAsync(() => Task.FromResult(Volatile.Read(ref begun) == 20 + CallbackClient.DefaultCap));
        await SetStoppedAsync(true);
        // The first record detects the stop; the second one follows it.
        foreach (var answered in (int[])[21, 22])
        {
            gate.Release();
            await Functions.Eventually.IsSoAsync(async () => (await rig.CallsAsync(1)).Answered == answered);
        }
        gate.Release(1_000);
        await running;
        Assert.InRange(rig.Caller.Calls.Count, 20 + CallbackClient.DefaultCap, 22 + CallbackClient.DefaultCap);

        await SetStoppedAsync(false);
        await rig.SettleAsync();
        Assert.Equal(CallRig.Expect("X", 0, 300), rig.ItemsOf(client));
        Assert.Equal(300, rig.Caller.Calls.Count);
        Assert.Equal(LoadState.Done, (await rig.Stores.LoadAsync(1)).State);

        Task SetStoppedAsync(bool stopped) => how == "hide" ? rig.Context.Get<BreachOperations>().SetHiddenAsync("X", stopped, None)
            : stopped ? rig.Context.Get<MailOperations>().HoldAsync("X", None)
            : rig.Context.Get<MailOperations>().NotifyAsync("X", None);
    }

    [Fact]
    public async Task Sensitive_breach_calls_only_clients_added_for_it_and_a_retired_one_calls_none()
    {
        await using var rig = await CallRig.StartAsync();
        await rig.AddAsync("usual", CallRig.AllPrefixes);
        var sensitive = await rig.AddAsync("sensitive", CallRig.AllPrefixes, isSensitive: true);
        await rig.DropAsync("S", 0, 30, """{"isSensitive":true}""");
        await rig.DropAsync("R", 0, 30, """{"isRetired":true}""");
        await rig.RunToEndAsync();
        Assert.Equal(CallRig.Expect("S", 0, 30), rig.ItemsOf(sensitive));
        Assert.Equal(30, rig.Caller.Calls.Count);
    }

    [Fact]
    public async Task Replacing_load_calls_only_for_accounts_new_to_the_breach()
    {
        await using var rig = await CallRig.StartAsync();
        var client = await rig.AddAsync("all", CallRig.AllPrefixes);
        await rig.DropAsync("X", 0, 90);
        await rig.RunToEndAsync();
        rig.Caller.Taken.Clear();
        await rig.DropAsync("X", 60, 90);
        await rig.RunToEndAsync();
        Assert.Equal(CallRig.Expect("X", 90, 60), rig.ItemsOf(client));
    }

    [Fact]
    public async Task Slice_evaluated_by_two_workers_is_called_for_even_if_the_second_is_held()
    {
        await using var rig = await CallRig.StartAsync(_clock);
        var client = await rig.AddAsync("all", CallRig.AllPrefixes);
        await rig.DropAsync("X", 0, 30, """{"notify":"hold"}""");
        await rig.RunToEndAsync();
        await rig.Context.Get<MailOperations>().NotifyAsync("X", None);
        var message = new CallbackSliceMessage { Load = 1, Slice = 1 };
        var (one, other) = (rig.Context.Get<CallClients>(), rig.OpenContext().Get<CallClients>());
        var (first, second) = (await one.ClaimAsync(message, None), await other.ClaimAsync(message, None));
        await one.RunAsync(first!, None);
        await rig.Context.Get<MailOperations>().HoldAsync("X", None);
        await other.RunAsync(second!, None);
        Assert.NotNull(await rig.Context.Callbacks.ReadAsync(new CallbackKey(client.Client.Number, new(1), 1), None));
        await rig.Context.Get<MailOperations>().NotifyAsync("X", None);
        await rig.SettleAsync();
        Assert.Equal(CallRig.Expect("X", 0, 30), rig.ItemsOf(client));
    }

    [Fact]
    public async Task Removing_a_client_or_breach_stops_its_calls_and_deletes_their_content()
    {
        await using var rig = await CallRig.StartAsync(_clock);
        rig.Caller.Answer = _ => Task.FromResult(RecordingCaller.Refused);
        var client = await rig.AddAsync("leaves", CallRig.AllPrefixes);
        var stays = await rig.AddAsync("stays", CallRig.AllPrefixes);
        await rig.DropAsync("X", 0, 30);
        await rig.RunToEndAsync();
        Assert.NotNull(await rig.Context.Callbacks.ReadAsync(new CallbackKey(client.Client.Number, new(1), 1), None));
        await rig.Context.Clients.RemoveAsync(client.Client.Number, None);
        await SweepAsync(rig, 1, TimeSpan.FromHours(2));
        Assert.Null(await rig.Context.Callbacks.ReadAsync(new CallbackKey(client.Client.Number, new(1), 1), None));
        Assert.Equal(30, (await rig.CallsAsync(1)).Open);

        await rig.Context.Get<RemoveBreach>().RunAsync("X", null, None);
        Assert.Null(await rig.Context.Callbacks.ReadAsync(new CallbackKey(stays.Client.Number, new(1), 1), None));
        var calls = rig.Caller.Calls.Count;
        await SweepAsync(rig, 1, TimeSpan.FromHours(2));
        Assert.Equal(calls, rig.Caller.Calls.Count);
        Assert.Empty(await rig.Context.Get<CallbackOperations>().ListAsync(None));
    }

    [Fact]
    public async Task Host_without_the_secret_key_reports_it_and_loses_no_call()
    {
        await using var rig = await CallRig.StartAsync(_clock);
        var client = await rig.AddAsync("all", CallRig.AllPrefixes);
        await rig.DropAsync("X", 0, 30);
        await PipelineRig.RunToEndAsync(rig.Context with { Keys = null });
        Assert.Contains("HIBP_SECRET_KEY", (await rig.CallsAsync(1)).Error, StringComparison.Ordinal);
        Assert.Empty(rig.Caller.Calls);
        await rig.SettleAsync();
        Assert.Equal(CallRig.Expect("X", 0, 30), rig.ItemsOf(client));
        Assert.Null((await rig.CallsAsync(1)).Error);
    }

    [Fact]
    public async Task Unreadable_slice_reports_its_error_and_waits_for_an_operators_retry()
    {
        await using var rig = await CallRig.StartAsync(_clock);
        var client = await rig.AddAsync("all", CallRig.AllPrefixes);
        await rig.DropAsync("X", 0, 120, """{"notify":"hold"}""");
        await rig.RunToEndAsync();
        const string OfSlice2 = "id BETWEEN (1 << 40) + 41 AND (1 << 40) + 80";
        await rig.Stores.ExecuteAsync($"CREATE TABLE kept AS SELECT * FROM rows WHERE {OfSlice2}");
        await rig.Stores.ExecuteAsync($"DELETE FROM rows WHERE {OfSlice2}");
        await rig.Context.Get<MailOperations>().NotifyAsync("X", None);
        await rig.RunToEndAsync();
        await rig.SweepAsync();
        Assert.Equal(80, rig.Caller.Calls.Count);
        Assert.Contains("slice 2", (await rig.CallsAsync(1)).Error, StringComparison.Ordinal);

        for (var hours = 0; hours < 3; hours++)
        {
            _clock.Advance(TimeSpan.FromHours(1));
            await rig.Context.SweepAsync();
            Assert.Equal(0, (await rig.Stores.DepthsAsync())[QueueNames.Calls]);
        }
        Assert.Empty(await rig.Context.Register.ListOpenAsync(None));
        Assert.Contains("slice 2", (await rig.CallsAsync(1)).Error, StringComparison.Ordinal);

        await rig.Stores.ExecuteAsync("INSERT INTO rows SELECT * FROM kept");
        Assert.Equal((0, 1), await rig.Context.Get<CallbackOperations>().RetryAsync(null, "X", None));
        await rig.RunToEndAsync();
        Assert.Equal(CallRig.Expect("X", 0, 120), rig.ItemsOf(client));
        Assert.Equal((true, null), ((await rig.CallsAsync(1)).IsSearched, (await rig.CallsAsync(1)).Error));
    }

    [Fact]
    public async Task Restored_database_repeats_calls_pending_at_the_backup_with_the_same_keys()
    {
        await using var rig = await CallRig.StartAsync(_clock, options => options.Journal.Mode = JournalMode.On);
        var client = await rig.AddAsync("all", CallRig.AllPrefixes);
        await rig.DropAsync("X", 0, 30);
        await PipelineRig.RunToEndAsync(rig.Context with { Keys = null });
        var backup = await rig.Stores.BackUpAsync("before");
        await rig.SettleAsync();
        await rig.SweepAsync();
        await rig.DropAsync("Y", 0, 30, """{"notify":"hold"}""");
        await rig.SweepAsync();
        Assert.Equal(30, rig.Caller.Calls.Count);

        await rig.RestoreAsync(backup);
        await rig.Context.ReconcileAsync();
        await rig.SettleAsync();
        Assert.Equal(60, rig.Caller.Calls.Count);
        Assert.Equal(CallRig.Expect("X", 0, 30), rig.ItemsOf(client));
        Assert.Equal(30, rig.Caller.Calls.Select(call => call.Key).Distinct().Count());
    }

    /// <summary>Sweeps this many times, each after a pause.</summary>
    private async Task SweepAsync(CallRig rig, int times, TimeSpan pause)
    {
        for (var i = 0; i < times; i++)
        {
            _clock.Advance(pause);
            await rig.SweepAsync();
        }
    }
}
