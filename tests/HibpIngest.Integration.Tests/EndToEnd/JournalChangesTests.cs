using HibpIngest.Journal.Manifest;
using HibpIngest.Pipeline.Catalogue;
using HibpIngest.Pipeline.Journal;
using HibpIngest.Pipeline.Recovery;
using HibpIngest.Pipeline.Removal;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Tests that an operator's change is in the journal when the command ends, or that the command reports otherwise.</summary>
public sealed class JournalChangesTests
{
    [Fact]
    public async Task Changes_are_in_the_journal_when_their_command_ends()
    {
        await using var rig = await StartAsync();
        // The second load's metadata is in the first load's document too.
        Assert.All(
            await DocumentsAsync(rig), document => Assert.Equal("Adobe Systems", document.Metadata.GetProperty("Title").GetString()));
        await rig.Context.Get<BreachOperations>().SetHiddenAsync("Adobe", true, None);
        Assert.All(await DocumentsAsync(rig), document => Assert.True(document.Hidden));
        Assert.Equal([1L, 2], (await rig.Context.Register.ListOpenAsync(None)).Select(open => open.Load.Value).Order());
        await rig.Context.Get<BreachOperations>().DescribeAsync("Adobe", """{"IsSensitive":true}"""u8.ToArray(), None);
        Assert.All(await DocumentsAsync(rig), document => Assert.True(document.Metadata.GetProperty("IsSensitive").GetBoolean()));
        await rig.Context.Get<BreachOperations>().SetHiddenAsync("Adobe", false, None);
        Assert.All(await DocumentsAsync(rig), document => Assert.False(document.Hidden));
        await rig.Context.Get<AssignLoad>().RunAsync(new(2), "Bold", None);
        Assert.Equal(["Adobe", "Bold"], (await DocumentsAsync(rig)).Select(document => document.Breach));
        Assert.Equal(0, (await rig.DepthsAsync())[QueueNames.Journal]);
        Assert.All(await rig.LoadsAsync(), load => Assert.True(load.IsJournaled));
        await rig.Context.SweepAsync();
        Assert.Empty(await rig.Context.Register.ListOpenAsync(None));
        // The first documents stay; the newest one applies.
        var logged = await LogContent.ReadAsync(rig.Context.Log);
        Assert.All(logged, load => Assert.Contains(JournalNames.Load, load.Documents));
        Assert.Equal([6, 6], logged.Select(load => load.Accounts.Count));
    }

    [Fact]
    public async Task Command_writes_a_load_that_is_not_in_the_journal_yet()
    {
        await using var rig = await StartAsync(JournalMode.Off);
        rig.Options.Journal.Mode = JournalMode.On;
        await rig.Context.Log.CreateAsync(None);
        await rig.Context.Get<BreachOperations>().SetHiddenAsync("Adobe", true, None);
        Assert.Equal([true, true], (await DocumentsAsync(rig)).Select(document => document.Hidden));
        Assert.All(await rig.LoadsAsync(), load => Assert.True(load.IsJournaled));
    }

    [Fact]
    public async Task Hide_reports_an_unavailable_journal_and_still_publishes_the_catalogue()
    {
        await using var rig = await StartAsync();
        var down = WithoutJournal(rig);
        await Refusal.AssertAsync<JournalBehindException>(
            "the log is down", () => down.Get<BreachOperations>().SetHiddenAsync("Adobe", true, None));
        Assert.Empty((await new RawCatalogue(rig.Context.Catalogue).IdsAsync()).Breaches);
        Assert.All(await DocumentsAsync(rig), document => Assert.False(document.Hidden));
        // A host repairs it, and so does the command.
        await rig.Context.Get<BreachOperations>().SetHiddenAsync("Adobe", true, None);
        Assert.All(await DocumentsAsync(rig), document => Assert.True(document.Hidden));
        await Assert.ThrowsAsync<JournalBehindException>(() => down.Get<BreachOperations>().SetHiddenAsync("Adobe", false, None));
        await rig.RunToEndAsync();
        Assert.All(await DocumentsAsync(rig), document => Assert.False(document.Hidden));
    }

    [Fact]
    public async Task Removal_does_not_begin_while_the_journal_is_unavailable()
    {
        await using var rig = await StartAsync();
        var down = WithoutJournal(rig);
        await Assert.ThrowsAsync<UnavailableException>(() => down.Get<RemoveBreach>().RunAsync("Adobe", null, None));
        await new RawCatalogue(rig.Context.Catalogue).AssertShowsAsync("not begun", "Adobe");
        Assert.All(await rig.LoadsAsync(), load => Assert.False(load.Removing));
    }

    private static PipelineParts WithoutJournal(PipelineRig rig) => rig.Context with
    {
        Log = PortProxy<IJournalBlobs>.Create(rig.Context.Log, _ => throw new UnavailableException("the log is down")),
    };

    private static async Task<IReadOnlyList<JournalLoadDocument>> DocumentsAsync(PipelineRig rig) =>
        [.. (await JournalManifest.ReadAsync(rig.Context.Log, None)).Counting.Select(load => load.Document!)];

    /// <summary>Starts with two loads of one breach.</summary>
    private static async Task<PipelineRig> StartAsync(JournalMode log = JournalMode.On)
    {
        var rig = await PipelineRig.StartAsync(options => (options.Ingest.BatchRows, options.Ingest.SliceRows, options.Journal.Mode)
            = (100, 50, log));
        await rig.LoadAccountsAsync("Adobe.zip", 0, 6);
        await rig.LoadAccountsAsync("Adobe.2.zip", 10, 6, """{"Title":"Adobe Systems"}""");
        return rig;
    }
}
