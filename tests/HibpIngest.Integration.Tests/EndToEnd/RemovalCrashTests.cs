using HibpIngest.Journal.Manifest;
using static HibpIngest.Integration.Tests.EndToEnd.RemovalSteps;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Tests that a removal resumes wherever it was interrupted.</summary>
public sealed class RemovalCrashTests(ITestOutputHelper output)
{
    // The removed load (old) has three chunks, the last one smaller. The load that stays (new) has two slices and shares some accounts.
    private const int OldAccounts = 7;
    private const int ChunkRows = 3;
    private const int FirstOfNew = 4;
    private const int NewAccounts = 8;
    private static readonly string InBoth = PipelineRig.Expected(5, 1).Single();

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Removal_interrupted_at_any_call_is_completed_by_the_next_removal(bool purged)
    {
        await using var rig = await PipelineRig.StartAsync(Journaled);
        await rig.ImportAsync((InBoth, null));
        var other = await LoadAsync(rig, "Other", FirstOfNew, NewAccounts);
        // Without rows, it scans 36 parts of the table, each with its own calls.
        var draw = new CallDraw(oneOf: purged ? 18 : 5, output.WriteLine);
        for (var crashed = true; crashed;)
        {
            var at = draw.Next();
            var breach = $"Adobe{at}";
            var old = await LoadAsync(rig, breach, 0, OldAccounts, purged);
            var point = new CrashPoint(at, draw.IsAfterwards());
            var died = await Record.ExceptionAsync(() => RemoveAsync(point.Wrap(rig.OpenContext()), breach, null, None, ChunkRows));
            crashed = point.Crashed;
            Assert.Equal(crashed, died is CrashException);
            output.WriteLine($"died at call {at}, {point.Where}");

            // Readers see all of it or nothing.
            var shown = await FindAllAsync(rig, 0, OldAccounts, breach);
            Assert.True(shown is 0 or OldAccounts, $"{shown} accounts are still found");
            // It may be complete except for its response.
            if (await rig.Context.Database.GetBreachAsync(breach, None) is not null)
                await RemoveAsync(rig.OpenContext(), breach, null, None, ChunkRows);
            Assert.Null(await rig.Context.Database.GetBreachAsync(breach, None));
            Assert.Empty(await LoadsAsync(rig, breach));
            var table = await rig.TableAsync();
            Assert.Equal(PipelineRig.Expected(FirstOfNew, NewAccounts).Order(), table.Keys.Order());
            Assert.All(table.Values, marks => Assert.Equal([$"b{other.Mark}"], marks));
            Assert.Equal(RawTable.RangesOf(table), await rig.RangesAsync());
            Assert.Equal(NewAccounts, await rig.CountAsync("rows"));
            Assert.Equal((1, 1), (await rig.CountAsync("notifications"), await rig.CountAsync("loads")));
        }
        Assert.Equal(NewAccounts, await FindAllAsync(rig, FirstOfNew, NewAccounts, "Other"));
        var journaled = await LogContent.ReadAsync(rig.Context.Log);
        Assert.Equal(
            (JournaledState.Counts, NewAccounts), journaled.Where(one => one.Load == other.Id.Value).Select(
                one => (one.State, one.Accounts.Count)).Single());
        Assert.All(journaled.Where(one => one.Load != other.Id.Value), one => Assert.Equal([JournalNames.Removed], one.Documents));
        Assert.Equal(NewAccounts, journaled.Sum(one => one.Accounts.Count));
    }
}
