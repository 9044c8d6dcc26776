using HibpIngest.Cli.Output;

namespace HibpIngest.Tests.Cli;

public sealed class RepeatedLinesTests
{
    private readonly TestClock _clock = TestClock.WithTimersByHand();
    private readonly List<string> _reported = [];

    [Fact]
    public void First_line_is_new_and_its_repeats_are_counted_per_window()
    {
        using var lines = new RepeatedLines(_reported.Add, _clock);
        Assert.True(lines.IsNew("down", "warning: a is down"));
        Assert.True(lines.IsNew("full", "warning: full"));
        Assert.False(lines.IsNew("down", "warning: b is down"));
        Assert.False(lines.IsNew("down", "warning: c is down"));
        Assert.Empty(_reported);
        _clock.Advance(RepeatedLines.Window);
        Assert.Equal(["2 more like this: warning: a is down"], _reported);
        // After a window without a repeat, it is new again.
        Assert.True(lines.IsNew("down", "warning: d is down"));
        _clock.Advance(RepeatedLines.Window);
        Assert.Single(_reported);
    }

    [Fact]
    public void Dispose_reports_the_pending_count()
    {
        var lines = new RepeatedLines(_reported.Add, _clock);
        lines.IsNew("down", "warning: a is down");
        lines.IsNew("down", "warning: b is down");
        lines.Dispose();
        Assert.Equal(["1 more like this: warning: a is down"], _reported);
        Assert.True(lines.IsNew("down", "warning: c is down"));
    }
}
