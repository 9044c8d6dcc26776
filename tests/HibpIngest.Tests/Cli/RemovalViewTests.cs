using System.Threading.Channels;
using HibpIngest.Cli.Commands;
using HibpIngest.Cli.Output;
using HibpIngest.Pipeline.Removal;

namespace HibpIngest.Tests.Cli;

public sealed class RemovalViewTests
{
    private static readonly DateTimeOffset Now = new(2026, 3, 4, 22, 41, 0, TimeSpan.Zero);

    [Fact]
    public async Task Removal_progress_shows_what_it_waits_for()
    {
        const string Waits = "removing Adobe: 1,000 of 20,000 accounts; waiting: the table is down";
        var time = TestClock.WithTimersByHand();
        var lines = Channel.CreateUnbounded<string>();
        await using var removal = new ProgressSpinner.Removal(
            "removing Adobe", time, TimeSpan.Zero, (line, _) => lines.Writer.TryWrite(line));
        // Without a report: the first store doesn't respond.
        Assert.Equal("removing Adobe; waiting for the stores for 10 s", await NextAsync());
        removal.Report(new RemovalProgress(1_000, 20_000, Reason: "the table is down"));
        var line = await NextAsync();
        while (line != Waits)
            line = await NextAsync();
        // Reports by other tasks don't hide it, until something progresses.
        removal.Report(new RemovalProgress(1_000, 20_000));
        Assert.Equal(Waits, await NextAsync());
        removal.Report(new RemovalProgress(2_000, 20_000));
        line = await NextAsync();
        while (line == Waits)
            line = await NextAsync();
        Assert.Equal("removing Adobe: 2,000 of 20,000 accounts", line);

        async Task<string> NextAsync()
        {
            var next = lines.Reader.ReadAsync().AsTask();
            await time.AdvanceUntilAsync(next, TimeSpan.FromSeconds(5)).WaitAsync(TimeSpan.FromMinutes(1));
            return await next;
        }
    }

    [Fact]
    public void Status_distinguishes_a_running_removal_from_an_interrupted_one()
    {
        var remover = new Heartbeat("aa", "web-1", 4711, "removal of Adobe", "1.0", Now.AddHours(-1), Now.AddSeconds(-3), []);
        var load = StatusSamples.NewLoad(7, LoadState.Done, Now.AddDays(-3)) with { FinishedAt = Now.AddDays(-3), Removing = true };
        var picture = new StatusSnapshot([load], [], [remover], [], []) { Removals = [new OpenRemoval("Adobe", [new(7)], 0.386)] };
        var text = StatusSamples.TextOf(picture, Now);
        Assert.Contains(
            "Adobe is being removed by web-1, process 4711: 38% of the accounts of 1 load removed", text, StringComparison.Ordinal);
        Assert.Contains(" removing ", text, StringComparison.Ordinal);
        var document = HibpIngest.Cli.Output.Documents.Of(picture, Now, 10);
        Assert.True(Assert.Single(document.Removals).Running);
        Assert.True(Assert.Single(document.Loads).Removing);
        // Regardless of when it was loaded.
        Assert.Single(picture.Recent(Now, newest: 0).Loads);

        Heartbeat[] others = [remover with { SeenAt = Now.AddMinutes(-1) }, remover with { Roles = "removal of Bold" }];
        foreach (var hosts in (Heartbeat[][])[[], others])
        {
            var interrupted = picture with { Hosts = hosts };
            Assert.Contains(
                "the removal of Adobe was interrupted: 38% of the accounts of 1 load removed; 'hibp breach remove Adobe' resumes it",
                StatusSamples.TextOf(interrupted, Now), StringComparison.Ordinal);
            Assert.False(Assert.Single(HibpIngest.Cli.Output.Documents.Of(interrupted, Now, 10).Removals).Running);
        }
    }

    [Fact]
    public void Breach_list_shows_a_removal_with_its_progress()
    {
        var text = new StringWriter();
        var console = Screen.Create(text);
        BreachListCommand.Show(
            new Screen(json: false, console, console), [new Breach { Name = "Adobe", Metadata = new BreachMetadata() }],
            Array.Empty<Load>().ToLookup(load => load.Breach),
            new Dictionary<string, OpenRemoval> { ["Adobe"] = new OpenRemoval("Adobe", [new(7)], 0.386) });
        Assert.Contains("nobody (removing: 38%)", text.ToString(), StringComparison.Ordinal);
    }
}
