using HibpIngest.Pipeline.Catalogue;
using HibpIngest.Pipeline.Mail;
using HibpIngest.Pipeline.Recovery;
using HibpIngest.Pipeline.Removal;
using HibpIngest.Pipeline.Setup;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Tests that breaches hidden, sensitive or removed before a restore are not visible after it.</summary>
public sealed class RestoredVisibilityTests
{
    private const int Rows = 6;

    [Theory]
    [InlineData(JournalMode.On, true)]
    [InlineData(JournalMode.On, false)]
    [InlineData(JournalMode.Off, true)]
    public async Task Hidden_breaches_stay_hidden_after_a_restore_even_if_no_host_has_run(JournalMode log, bool hasBackup)
    {
        await using var rig = await StartAsync(log);
        await rig.LoadAccountsAsync("Alpha.zip", 0, Rows);
        await rig.LoadAccountsAsync("Beta.zip", 100, Rows);
        await rig.LoadAccountsAsync("Gamma.zip", 200, Rows);
        await rig.LoadAccountsAsync("Shy.zip", 300, Rows);
        var backup = await rig.BackUpAsync("before");
        var commands = rig.Context.Get<BreachOperations>();
        await commands.SetHiddenAsync("Alpha", true, None);
        await commands.SetHiddenAsync("Shy", true, None);
        await commands.DescribeAsync("Gamma", Encoding.UTF8.GetBytes("""{"IsSensitive":true,"Title":"The Gamma"}"""), None);

        var restored = await RestoreAsync(rig, hasBackup ? backup : null);
        await new RawCatalogue(restored.Catalogue).AssertShowsAsync("restored", "Beta", "Gamma");
        await AssertPublicAsync(rig, "Beta");
        var gamma = (await restored.Database.GetBreachAsync("Gamma", None))!;
        Assert.Equal(("The Gamma", BreachFlags.Sensitive), (gamma.Metadata.Title, gamma.Metadata.Flags));

        // The operator decides later.
        await restored.Get<BreachOperations>().SetHiddenAsync("Alpha", false, None);
        await AssertPublicAsync(rig, "Alpha", "Beta");
    }

    [Fact]
    public async Task Load_assigned_to_a_hidden_breach_stays_hidden_after_a_restore()
    {
        await using var rig = await StartAsync(JournalMode.On);
        await rig.LoadAccountsAsync("Alpha.zip", 0, Rows);
        await rig.LoadAccountsAsync("Shy.zip", 300, Rows);
        await rig.Context.Get<BreachOperations>().SetHiddenAsync("Shy", true, None);
        await rig.RunToEndAsync();
        var backup = await rig.BackUpAsync("before");
        await rig.Context.Get<AssignLoad>().RunAsync(new(1), "Shy", None);
        await RestoreAsync(rig, backup);
        await AssertPublicAsync(rig);
        await RestoreAsync(rig, null);
        await AssertPublicAsync(rig);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Restore_to_before_the_load_completes_an_interrupted_removal(bool hasBackup)
    {
        await using var rig = await StartAsync(JournalMode.On);
        await rig.LoadAccountsAsync("Alpha.zip", 0, Rows);
        var backup = await rig.BackUpAsync("before");
        await rig.LoadAccountsAsync("Late.zip", 100, Rows);
        await rig.Context.Get<BreachOperations>().DescribeAsync("Late", """{"IsSensitive":true}"""u8.ToArray(), None);
        var hooks = new HookedPorts((_, what) =>
            what == nameof(IAccountTable.RemoveMarkAsync) ? throw new CrashException() : Task.CompletedTask);
        await Assert.ThrowsAsync<CrashException>(() => hooks.Wrap(rig.OpenContext()).Get<RemoveBreach>().RunAsync("Late", null, None));
        await rig.LoadAccountsAsync("Later.zip", 200, Rows);

        var restored = await RestoreAsync(rig, hasBackup ? backup : null);
        await AssertPublicAsync(rig, "Alpha", "Later");
        Assert.Equal(["Alpha", "Later"], (await restored.Database.ListLoadsAsync(null, None)).Select(load => load.Breach));
        await Assert.ThrowsAsync<NotPossibleException>(() => restored.Get<MailOperations>().NotifyAsync("Late", None));

        // Uploaded again it is an ordinary breach, and stays complete.
        await rig.DropAccountsAsync("Late.zip", 150, Rows);
        await PipelineRig.RunToEndAsync(restored);
        Assert.Equal("Late", Assert.Single(await rig.FindAsync(PipelineRig.Expected(150, 1).Single())).Name);
        restored = await RestoreAsync(rig, hasBackup ? backup : null);
        Assert.Equal("Late", Assert.Single(await rig.FindAsync(PipelineRig.Expected(150, 1).Single())).Name);
        Assert.Empty(await rig.FindAsync(PipelineRig.Expected(100, 1).Single()));
    }

    [Theory]
    [InlineData(JournalMode.On)]
    [InlineData(JournalMode.Off)]
    public async Task Zip_reloaded_after_a_restore_is_published_only_by_notify(JournalMode log)
    {
        await using var rig = await StartAsync(log);
        await rig.LoadAccountsAsync("Alpha.zip", 0, Rows);
        var backup = await rig.BackUpAsync("before");
        if (log == JournalMode.On)
            await rig.LoadAccountsAsync("Beta.zip", 200, Rows);
        await rig.DropAccountsAsync("Alpha.2.zip", 50, Rows);
        await rig.DropAccountsAsync("Lost.zip", 100, Rows);
        if (log == JournalMode.Off)
        {
            await rig.RunToEndAsync();
            await rig.Context.Get<BreachOperations>().DescribeAsync("Lost", """{"IsSensitive":true}"""u8.ToArray(), None);
        }

        var restored = await RestoreAsync(rig, backup, "Alpha");
        Assert.Equal(
            ["Alpha.2.zip", "Lost.zip"],
            (await restored.Database.ListLoadsAsync(null, None)).Where(load => load.State == LoadState.Held)
                .Select(load => load.Blob.Name).Order());
        string[] known = log == JournalMode.On ? ["Alpha", "Beta"] : ["Alpha"];
        await AssertPublicAsync(rig, known);
        Assert.Empty(await rig.FindAsync(PipelineRig.Expected(50, 1).Single()));
        await restored.Get<MailOperations>().NotifyAsync("Alpha", None);
        await restored.Get<MailOperations>().NotifyAsync("Lost", None);
        await PipelineRig.RunToEndAsync(restored);
        Assert.Equal("Alpha", Assert.Single(await rig.FindAsync(PipelineRig.Expected(50, 1).Single())).Name);
        // A breach that readers knew as sensitive still is.
        await AssertPublicAsync(rig, log == JournalMode.Off ? known : [.. known, "Lost"]);
        Assert.All(await restored.Database.ListLoadsAsync(null, None), load => Assert.Equal(LoadState.Done, load.State));
    }

    [Fact]
    public async Task Host_started_on_a_manually_restored_database_shows_nothing_hidden()
    {
        await using var rig = await StartAsync(JournalMode.On);
        await rig.LoadAccountsAsync("Alpha.zip", 0, Rows);
        await rig.LoadAccountsAsync("Beta.zip", 100, Rows);
        var backup = await rig.BackUpAsync("before");
        await rig.Context.Get<BreachOperations>().SetHiddenAsync("Alpha", true, None);
        await rig.RestoreAsync(backup);
        var host = rig.OpenContext();
        await host.Get<StoreSetup>().EnsureAsync(None);
        await host.Get<BreachOperations>().DescribeAsync("Beta", """{"Title":"The Beta"}"""u8.ToArray(), None);
        await PipelineRig.RunToEndAsync(host);
        await AssertPublicAsync(rig, "Beta");
        await new RawCatalogue(host.Catalogue).AssertShowsAsync("host", "Beta");
    }

    private static async Task<PipelineParts> RestoreAsync(PipelineRig rig, string? backup, params string[] held)
    {
        await rig.RestoreOrLoseAsync(backup);
        var restored = rig.OpenContext();
        var moved = await restored.ReconcileAsync(empty: backup is null);
        Assert.Empty(moved.Log?.Problems ?? []);
        if (held.Length == 0)
            Assert.Equal(0, moved.Loads);
        await restored.Get<StoreSetup>().EnsureAsync(None);
        await PipelineRig.RunToEndAsync(restored);
        return restored;
    }

    /// <summary>Asserts that public lookups of all accounts show exactly these breaches.</summary>
    private static async Task AssertPublicAsync(PipelineRig rig, params string[] breaches)
    {
        string[] accounts = [.. Enumerable.Range(0, 4).SelectMany(i => PipelineRig.Expected(i * 100, Rows))];
        var shown = (await rig.FindAsync(accounts)).SelectMany(found => found).Select(breach => breach.Name).Distinct().Order();
        Assert.Equal(breaches.Order(), shown);
    }

    private static Task<PipelineRig> StartAsync(JournalMode log) => PipelineRig.StartAsync(
        options => (options.Ingest.BatchRows, options.Ingest.SliceRows, options.Journal.SegmentBatches, options.Journal.Mode)
            = (100, 50, 1, log));
}
