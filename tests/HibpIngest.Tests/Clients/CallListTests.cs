using HibpIngest.Pipeline.Callbacks;

namespace HibpIngest.Tests.Clients;

public sealed class CallListTests
{
    private static readonly CallbackKey Key = new(7, new(1), 2);
    private static readonly CallResponse Accepted = new(CallOutcome.Accepted, 200, null, null);
    private static readonly CallResponse Throttled = new(CallOutcome.Throttled, 429, null, "it answered 429");
    private static readonly CallResponse Refused = new(CallOutcome.Refused, 500, null, "it answered 500");

    private readonly SecretKeys _keys = SecretKeys.Parse(Convert.ToBase64String(RandomNumberGenerator.GetBytes(32)))!;

    [Fact]
    public void Hashes_with_the_same_prefix_make_one_call_with_the_documented_body()
    {
        var hashes = Hashes("0A1B2C00", "0A1B2CFF", "0A1B2D00", "FFFFFF12");
        Assert.Equal(3, CallList.CountOf(hashes));
        var calls = CallList.Open(_keys, Key, CallList.Seal(_keys, Key, hashes))!;
        Assert.Equal(3, calls.Count);
        var (body, key) = calls.Make(0, 7, "Adobe");
        string[] suffixes = [$"00{new string('0', 32)}", $"FF{new string('0', 32)}"];
        Assert.Equal(
            $$"""{"breachName":"Adobe","hashPrefix":"0A1B2C","hashSuffixes":["{{suffixes[0]}}","{{suffixes[1]}}"]}""",
            Encoding.UTF8.GetString(body));
        Assert.Equal(
            Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes($"7\nAdobe\n0A1B2C\n{suffixes[0]},{suffixes[1]}"))), key);
        Assert.Equal(
            ["0A1B2D", "FFFFFF"],
            Enumerable.Range(1, 2).Select(call =>
                JsonDocument.Parse(calls.Make(call, 7, "Adobe").Body).RootElement.GetProperty("hashPrefix").GetString()));
    }

    [Fact]
    public void Sealed_list_is_encrypted_and_opens_only_for_its_delivery()
    {
        var content = CallList.Seal(_keys, Key, Hashes("0A1B2C00"));
        Assert.Equal(-1, content.AsSpan().IndexOf(Hashes("0A1B2C00").AsSpan(0, 4)));
        foreach (var other in (CallbackKey[])[Key with { Client = 8 }, Key with { Load = new(2) }, Key with { Slice = 1 }])
            Assert.Null(CallList.Open(_keys, other, content));
        using var others = SecretKeys.Parse(Convert.ToBase64String(new byte[32]));
        Assert.Null(CallList.Open(others!, Key, content));
        Assert.Null(CallList.Open(_keys, Key, content.AsSpan(1)));
    }

    [Fact]
    public void Calls_are_taken_once_and_throttled_ones_again_after_the_others()
    {
        var (delivery, calls) = Opened(1, "0A1B2C00", "0A1B2D00", "0A1B2E00", "0A1B2F00");
        var pool = new CallPool([(delivery with { Done = [0b0100], Answered = 1 }, calls), Opened(2, "FFFFFF00")], _ => 0);
        Assert.Equal([(0, 0), (0, 1), (0, 3), (1, 0)], TakeAll(pool));
        pool.Settle((0, 0), Throttled);
        pool.Settle((0, 1), Refused);
        pool.Settle((0, 3), Accepted);
        pool.Settle((1, 0), Accepted);
        Assert.Equal([(0, 0)], TakeAll(pool));
        pool.Settle((0, 0), Accepted);

        var changed = pool.TakeChanged();
        Assert.Equal(
            ["1 3 1101 Open", "2 1 1 Open"],
            changed.Select(one => $"{one.Key.Slice} {one.Answered} {Convert.ToString(one.Done[0], 2)} {one.State}"));
        Assert.Empty(pool.TakeChanged());
        var results = pool.Results(before => TimeSpan.FromSeconds(before + 1));
        Assert.Equal(
            (CallbackState.Open, "it answered 500", TimeSpan.FromSeconds(1)), (results[0].State, results[0].Error, results[0].Pause));
        Assert.Equal((CallbackState.Done, null, null), (results[1].State, results[1].Error, results[1].Pause));
    }

    [Fact]
    public void Halted_delivery_starts_no_further_calls()
    {
        var pool = new CallPool([Opened(1, "0A1B2C00", "0A1B2D00"), Opened(2, "FFFFFF00")], _ => 0);
        Assert.True(pool.TryTake(out var first));
        pool.Settle(first, Throttled);
        pool.Halt(pool.Keys[0]);
        Assert.Equal([(1, 0)], TakeAll(pool));
        var result = pool.Results(_ => TimeSpan.FromSeconds(1))[0];
        Assert.Equal((CallbackState.Open, 0, null), (result.State, result.Answered, result.Pause));
    }

    [Fact]
    public void Untried_calls_are_not_delayed_by_failed_ones()
    {
        var pool = new CallPool([Opened(1, "0A1B2C00", "0A1B2D00", "0A1B2E00"), Opened(2, "FFFFFF00", "FFFFF000")], _ => 1);
        Assert.True(pool.TryTake(out var first));
        Assert.Equal((0, 1), first);
        pool.Settle(first, Refused);
        Assert.NotNull(Result(0).Pause); // nothing else was accepted
        Assert.True(pool.TryTake(out var second));
        Assert.Equal((0, 2), second);
        pool.Settle(second, Accepted);
        Assert.Equal((null, "it answered 500"), (Result(0).Pause, Result(0).Error));
        Assert.True(pool.TryTake(out var third));
        Assert.Equal((0, 0), third);
        pool.Settle(third, Accepted);
        Assert.NotNull(Result(0).Pause); // all were tried
        Assert.Equal((null, null), (Result(1).Pause, Result(1).Error));

        CallbackResult Result(int delivery) => pool.Results(_ => TimeSpan.FromSeconds(1))[delivery];
    }

    private static List<(int Delivery, int Call)> TakeAll(CallPool pool)
    {
        var taken = new List<(int, int)>();
        while (pool.TryTake(out var call))
            taken.Add(call);
        return taken;
    }

    private (CallbackDelivery Delivery, CallList Calls) Opened(int slice, params string[] hashes)
    {
        var key = Key with { Slice = slice };
        var delivery = new CallbackDelivery { Key = key, Breach = "Adobe", Flags = default, Calls = 1 };
        return (delivery, CallList.Open(_keys, key, CallList.Seal(_keys, key, Hashes(hashes)))!);
    }

    /// <summary>Returns hashes with these prefixes, concatenated.</summary>
    private static byte[] Hashes(params string[] beginnings) =>
        [.. beginnings.SelectMany(beginning => Convert.FromHexString(beginning.PadRight(2 * CallList.HashBytes, '0')))];
}
