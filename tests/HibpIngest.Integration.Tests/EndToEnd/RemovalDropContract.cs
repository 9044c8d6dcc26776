using static HibpIngest.Integration.Tests.EndToEnd.RemovalSteps;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>
/// Tests that a removal deletes the loads that exist when it begins, whenever a new one arrives. There is one class
/// for loads with rows and one for purged loads, so that they run in parallel.
/// </summary>
public abstract class RemovalDropContract(bool purged, ITestOutputHelper output)
{
    // Three chunks, the last one smaller; the new load of two slices shares some of the old one's accounts.
    private const int Old = 7;
    private const int ChunkRows = 3;
    private const int FirstOfNew = 4;
    private const int New = 8;
    private const int BeforeListing = 2; // calls
    private static readonly string InBoth = PipelineRig.Expected(5, 1).Single();

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task New_drop_at_any_step_of_a_removal_keeps_all_of_its_data(bool halfWay)
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.ImportAsync((InBoth, null), ("owner@example.net", "example.com"));
        var draw = new CallDraw(purged ? 18 : 3, output.WriteLine); // a scan of the table has 36 parts
        var (at, reached) = (0, true);
        while (reached)
        {
            at = at < BeforeListing ? at + 1 : Math.Max(at + 1, draw.Next()); // no repeats: breaches are named by it
            var breach = $"Adobe{at}";
            var old = await LoadAsync(rig, breach, 0, Old, purged, """{"Title":"Adobe Systems","IsVerified":true}""");
            var mails = rig.Mails().Count;
            var (listed, late, where) = (false, false, "");
            var hooks = new HookedPorts(async (call, what) =>
            {
                if (call == at)
                {
                    (late, where) = (listed, what);
                    await rig.DropAccountsAsync($"{breach}.zip", FirstOfNew, New);
                    await (halfWay ? RunHalfWayAsync(rig) : rig.RunToEndAsync());
                }
                listed |= what == nameof(ICatalogue.BeginRemovalAsync);
            });
            var removing = RemoveAsync(hooks.Wrap(rig.OpenContext()), breach, null, None, ChunkRows);
            var refused = await Record.ExceptionAsync(() => removing);
            reached = hooks.Calls >= at;
            output.WriteLine($"new drop before call {at}, {where}");
            if (reached && !late && halfWay)
            {
                // The upload came before the listing, and its load is open: nothing was done.
                Assert.Contains("still open", Assert.IsType<NotPossibleException>(refused).Message, StringComparison.Ordinal);
                await rig.RunToEndAsync();
                Assert.Equal(2, (await LoadsAsync(rig, breach)).Count);
                continue;
            }
            Assert.Null(refused);
            await rig.RunToEndAsync();
            var table = await rig.TableAsync();
            Assert.DoesNotContain(table.Values, marks => marks.Contains($"b{old.Mark}"));
            Assert.Equal(RawTable.RangesOf(table), await rig.RangesAsync());
            if (!reached || !late)
            {
                // The upload never happened, or before the listing.
                Assert.Null(await rig.Context.Database.GetBreachAsync(breach, None));
                continue;
            }
            var fresh = Assert.Single(await LoadsAsync(rig, breach));
            Assert.Equal([fresh.Id], (await removing).RemainingLoads);
            Assert.Equal((LoadState.Done, (long)New, 2), (fresh.State, fresh.Accounts, fresh.Notifications.Sent));
            var marked = table.Where(one => one.Value.Contains($"b{fresh.Mark}")).Select(one => one.Key);
            Assert.Equal(PipelineRig.Expected(FirstOfNew, New).Order(), marked.Order());
            Assert.Equal(New, await rig.CountAsync($"rows WHERE id >> 40 = {fresh.Id}"));
            Assert.Equal(mails + 2, rig.Mails().Count);
            var found = Assert.Single(await rig.FindAsync(InBoth), one => one.Name == breach);
            Assert.Equal(("Adobe Systems", true), (found.Title, found.IsVerified));
        }
        Assert.True(at > 12, $"the removal was expected to make more than {at} calls");
        Assert.Equal(0, await rig.CountAsync("loads WHERE removing"));
    }

    private static async Task RunHalfWayAsync(PipelineRig rig)
    {
        await rig.Context.Get<BlobScan>().RunAsync(TimeSpan.Zero, None);
        await rig.Context.HandleMessagesAsync(QueueNames.Ingest, limit: 1);
        await rig.Context.HandleMessagesAsync(QueueNames.Slices, limit: 1);
    }
}
