using HibpIngest.Cli.LocalHost;

namespace HibpIngest.Tests.Hosts;

public sealed class StoreHealthTests
{
    private static readonly TimeSpan Pause = TimeSpan.FromSeconds(10);

    [Fact]
    public void Each_outage_cause_is_logged_once_and_full_recovery_once()
    {
        var log = new CollectingLogger();
        var health = new StoreHealth(log);
        health.Down("sweep", Reason("listing"), Pause);
        health.Down("breach-mail", Reason("receiving"), Pause);
        health.Down("sweep", Reason("listing"), Pause);
        Assert.Equal(EventIds.StoreHealthDown, Assert.Single(log.Lines).Event);
        health.Down("scan", new UnavailableException("the database doesn't answer"), Pause);
        Assert.Equal(2, log.Lines.Count);
        health.Up("sweep");
        health.Up("scan");
        health.Up("scan");
        Assert.Equal(2, log.Lines.Count);
        health.Up("breach-mail");
        Assert.Equal(EventIds.StoreHealthUp, log.Lines.Last().Event);
        Assert.Equal(3, log.Lines.Count);
    }

    [Fact]
    public void Blocked_work_is_listed_until_its_next_attempt_has_had_time()
    {
        var clock = TestClock.Standing();
        var blockedWork = new BlockedWork(clock);
        var health = new StoreHealth(new CollectingLogger(), (what, reason, pause) => blockedWork.Note(default, what, reason, pause));
        blockedWork.Note(new(3), "breach-mail", "refused", TimeSpan.FromMinutes(2));
        health.Down("sweep", Reason("listing"), Pause);
        health.Down("sweep", Reason("reading"), Pause);
        Assert.Equal(
            [
                (0, "sweep", "reading failed: no connection", clock.GetUtcNow() + Pause),
                (3, "breach-mail", "refused", clock.GetUtcNow().AddMinutes(2)),
            ],
            blockedWork.List().Select(one => ((int)one.Load, one.What, one.Reason, one.NextTry)));
        clock.Advance(TimeSpan.FromMinutes(1));
        Assert.Equal("breach-mail", Assert.Single(blockedWork.List()).What);
        clock.Advance(TimeSpan.FromMinutes(2));
        Assert.Empty(blockedWork.List());
    }

    private static UnavailableException Reason(string what) => new(what, "no connection");
}
