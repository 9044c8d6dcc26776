using System.Globalization;

namespace HibpIngest.Testing;

/// <summary>
/// At which of a run's calls a test breaks it off: one of every few, drawn anew each time, so that all of them come up over some
/// runs. HIBP_TEST_CALLS=all takes every one; HIBP_TEST_CALLS=SEED draws again what a run with that seed drew.
/// </summary>
public sealed class CallDraw
{
    private static readonly string? Asked = Environment.GetEnvironmentVariable("HIBP_TEST_CALLS");

    private readonly int _oneOf;
    private readonly Random _random;
    private int _group;

    /// <param name="oneOf">Of so many calls one after another, one is drawn.</param>
    /// <param name="say">Is told the seed.</param>
    public CallDraw(int oneOf, Action<string> say)
    {
        var seed = Asked is null or "all" ? Environment.TickCount & 0xFFFFFF : int.Parse(Asked, CultureInfo.InvariantCulture);
        _random = new Random(seed);
        _oneOf = Asked == "all" ? 1 : oneOf;
        say($"HIBP_TEST_CALLS={seed}: one of {_oneOf} calls");
    }

    /// <summary>The next that is drawn, beginning with 1; there is no last.</summary>
    public int Next() => (_group++ * _oneOf) + _random.Next(_oneOf) + 1;

    /// <summary>Those that are drawn of a run of as many calls.</summary>
    public IEnumerable<int> Of(int calls)
    {
        for (var call = Next(); call <= calls; call = Next())
            yield return call;
    }

    /// <summary>Whether the process dies after the call has had its effect rather than before.</summary>
    public bool IsAfterwards() => _random.Next(2) == 0;
}
