using HibpIngest.Cli.Output;

namespace HibpIngest.Tests.Cli;

public sealed class StatusSnapshotTests
{
    private static readonly DateTimeOffset Now = new(2026, 3, 4, 5, 6, 7, TimeSpan.Zero);

    [Fact]
    public void Recent_keeps_loads_of_the_last_day_unfinished_ones_and_the_newest()
    {
        Load[] loads =
        [
            Ended(1, LoadState.Done, TimeSpan.FromDays(2)), Ended(2, LoadState.Failed, TimeSpan.FromDays(2)),
            Ended(3, LoadState.Done, TimeSpan.FromHours(23)), Ended(4, LoadState.Held, null), Ended(5, LoadState.Ingesting, null),
            // Done, except for its callbacks.
            Ended(6, LoadState.Done, TimeSpan.FromDays(2)) with { Calls = new CallProgress(true, 3, 2, 1, 0, null, null) },
            Ended(7, LoadState.Done, TimeSpan.FromDays(3)), Ended(8, LoadState.Failed, TimeSpan.FromDays(4)),
        ];
        var picture = new StatusSnapshot(loads, [], [], [], []);
        Assert.Equal([3, 4, 5, 6, 8], picture.Recent(Now, newest: 1).Loads.Select(load => load.Id.Value));
        Assert.Equal([3, 4, 5, 6, 7, 8], picture.Recent(Now, newest: 2).Loads.Select(load => load.Id.Value));
        Assert.Equal(loads, picture.Recent(Now, newest: 8).Loads);
    }

    private static Load Ended(long id, LoadState state, TimeSpan? ago) =>
        StatusSamples.NewLoad(id, state, Now) with { FinishedAt = ago is { } since ? Now - since : null };
}
