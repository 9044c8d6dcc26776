using HibpIngest.Pipeline.Callbacks;
using HibpIngest.Pipeline.Mail;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>
/// Crashes a process at any call of a store or client while it releases a held load, searches its slices for watched prefixes, or
/// delivers callbacks. The next process must complete everything; a repeated callback has the same idempotency key.
/// </summary>
public sealed class CallbackCrashTests(ITestOutputHelper output)
{
    private const int AtOnce = 4;
    private const int Accounts = 60;

    [Fact]
    public async Task Callbacks_are_all_delivered_after_a_crash_at_any_call()
    {
        var draw = new CallDraw(oneOf: 6, output.WriteLine);
        var calls = await RunAsync(new CrashPoint(int.MaxValue, afterwards: false));
        output.WriteLine($"{calls} calls without a crash");
        Assert.True(calls > 2 * Accounts, "more calls of stores and clients than callbacks were expected");
        var points = draw.Of(calls).Select(at => new CrashPoint(at, draw.IsAfterwards())).ToList();
        await Parallel.ForEachAsync(
            points, new ParallelOptions { MaxDegreeOfParallelism = AtOnce }, async (point, _) => await RunAsync(point));
    }

    private static async Task<int> RunAsync(CrashPoint point)
    {
        var clock = new TestClock();
        await using var rig = await CallRig.StartAsync(clock);
        // Some of this client's calls fail, so that it has a second turn.
        var (all, some) = (await rig.AddAsync("all", CallRig.AllPrefixes), await rig.AddAsync("some", CallRig.PrefixesOf(0, Accounts / 2)));
        var failed = new HashSet<string>();
        rig.Caller.Answer = call =>
        {
            lock (failed)
            {
                return Task.FromResult(call.Url == some.Client.Url && call.Key[0] < '2' && failed.Add(call.Key)
                    ? RecordingCaller.Refused : RecordingCaller.Accepted);
            }
        };
        await rig.DropAsync("X", 0, Accounts, """{"notify":"hold"}""");
        await rig.RunToEndAsync();
        Assert.Empty(rig.Caller.Calls);

        var dying = point.Wrap(rig.OpenContext());
        await CrashPoint.WorkAsync(rig.Context.Queues, dying, () => dying.Get<MailOperations>().NotifyAsync("X", None));
        clock.Advance(TimeSpan.FromHours(1));
        // If it crashed before the release, the operator repeats the command.
        if ((await rig.Stores.LoadAsync(1)).State == LoadState.Held)
            await rig.Context.Get<MailOperations>().NotifyAsync("X", None);
        await rig.SettleAsync();
        await rig.SweepAsync();

        var where = $"died at call {point.Calls}: {point.Where}";
        Assert.True(CallRig.Expect("X", 0, Accounts).SequenceEqual(rig.ItemsOf(all)), where);
        Assert.True(CallRig.Expect("X", 0, Accounts / 2).SequenceEqual(rig.ItemsOf(some)), where);
        Assert.All(
            rig.Caller.Calls, call => Assert.Equal(CallRig.KeyOf(call.Url == all.Client.Url ? all : some, call), call.Key));
        Assert.All(rig.Caller.Calls.GroupBy(call => call.Key), tries => Assert.Single(tries.Select(call => call.Body).Distinct()));
        var calls = await rig.CallsAsync(1);
        Assert.True((Accounts * 3 / 2, 0, 0) == (calls.Answered, calls.Open, calls.Abandoned), $"{where}; {calls}");
        // A deferred client's message stays hidden by the emulator's clock.
        Assert.True((await rig.Stores.DepthsAsync()).All(one => one.Value == 0 || one.Key == QueueNames.Callbacks), where);
        foreach (var slice in await rig.Stores.SlicesAsync(1))
        {
            foreach (var client in (NewClient[])[all, some])
            {
                var delivery = new CallbackKey(client.Client.Number, new(1), slice.Number);
                Assert.True(await rig.Context.Callbacks.ReadAsync(delivery, None) is null, where);
            }
        }
        return point.Calls;
    }
}
