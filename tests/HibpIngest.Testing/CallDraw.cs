namespace HibpIngest.Testing;

/// <summary>
/// Draws the calls at which a test interrupts a run: one in every few, different each time, so that several runs
/// cover all of them. HIBP_TEST_CALLS=all selects every call; HIBP_TEST_CALLS=SEED repeats the draw of a run with
/// that seed.
/// </summary>
public sealed class CallDraw
{
    private static readonly string? Asked = Environment.GetEnvironmentVariable("HIBP_TEST_CALLS");

    private readonly int _oneOf;
    private readonly Random _random;
    private int _group;

    /// <param name="oneOf">One of this many consecutive calls is drawn.</param>
    public CallDraw(int oneOf, Action<string> say)
    {
        var seed = Asked is null or "all" ? Environment.TickCount & 0xFFFFFF : int.Parse(Asked, CultureInfo.InvariantCulture);
        _random = new Random(seed);
        _oneOf = Asked == "all" ? 1 : oneOf;
        say($"HIBP_TEST_CALLS={seed}: one of {_oneOf} calls");
    }

    /// <summary>Returns the next call that is drawn, 1-based; the sequence is endless.</summary>
    public int Next() => (_group++ * _oneOf) + _random.Next(_oneOf) + 1;

    public IEnumerable<int> Of(int calls)
    {
        for (var call = Next(); call <= calls; call = Next())
            yield return call;
    }

    /// <summary>True if the process crashes after the call took effect instead of before.</summary>
    public bool IsAfterwards() => _random.Next(2) == 0;
}
