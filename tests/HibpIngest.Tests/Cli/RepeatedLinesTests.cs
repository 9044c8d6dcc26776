using HibpIngest.Cli.Output;

namespace HibpIngest.Tests.Cli;

/// <summary>Tests repeated errors with the same cause.</summary>
public sealed class RepeatedLinesTests
{
    private readonly TestClock _clock = TestClock.WithTimersByHand();
    private readonly List<string> _said = [];

    [Fact]
    public void The_first_is_said_and_then_how_many_there_were()
    {
        using var lines = new RepeatedLines(_said.Add, _clock);
        Assert.True(lines.IsNew("down", "warning: a is down"));
        Assert.True(lines.IsNew("full", "warning: full"));
        Assert.False(lines.IsNew("down", "warning: b is down"));
        Assert.False(lines.IsNew("down", "warning: c is down"));
        Assert.Empty(_said);
        _clock.Advance(RepeatedLines.Window);
        Assert.Equal(["2 more like this: warning: a is down"], _said);
        // After a window without a repeat, it is new again.
        Assert.True(lines.IsNew("down", "warning: d is down"));
        _clock.Advance(RepeatedLines.Window);
        Assert.Single(_said);
    }

    [Fact]
    public void What_was_counted_is_said_at_the_end()
    {
        var lines = new RepeatedLines(_said.Add, _clock);
        lines.IsNew("down", "warning: a is down");
        lines.IsNew("down", "warning: b is down");
        lines.Dispose();
        Assert.Equal(["1 more like this: warning: a is down"], _said);
        Assert.True(lines.IsNew("down", "warning: c is down"));
    }
}
