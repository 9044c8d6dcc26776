using HibpIngest.Journal.Manifest;
using HibpIngest.Pipeline.Catalogue;

namespace HibpIngest.Integration.Tests.Cli;

/// <summary>Runs the restore drill of docs/operating.md as written there, and tests the commands' messages.</summary>
public sealed class RestoreDrillTests
{
    private const string Page = "docs/operating.md";

    [Fact]
    public async Task Documented_drill_restores_every_load_and_sends_no_mail()
    {
        await using var rig = await StartAsync();
        await LoadAsync(rig, "Adobe.zip", 0, """{"Title":"Adobe Systems"}""");
        await LoadAsync(rig, "Bold.zip", 40, """{"IsSensitive":true}""");
        await LoadAsync(rig, "Cash.zip", 80);
        await rig.Context.Get<BreachOperations>().SetHiddenAsync("Cash", true, None);
        await rig.RunToEndAsync();
        var (table, mails) = (await rig.TableAsync(), rig.Mails());
        Assert.Single(mails);
        await rig.CloseAsync();

        await File.WriteAllTextAsync(Path.Combine(rig.Folder, "subscribers.csv"), "email,domain\nuser1@d1.example.org,\n");
        var breaches = (await rig.HibpAsync("breaches")).Succeeded().Output;
        var drill = Assert.Single(DocumentFiles.Snippets(Page, "sh"), snippet => snippet.Contains("--empty", StringComparison.Ordinal));
        var start = new ProcessStartInfo(
            "sh", ["-c", $"set -e\nhibp() {{ dotnet '{Path.Combine(AppContext.BaseDirectory, "hibp.dll")}' \"$@\"; }}\n{drill}"])
        {
            WorkingDirectory = rig.Folder,
        };
        start.SetVariables(rig.Folder, rig.Variables);
        var run = (await start.RunToEndAsync()).Succeeded();
        var said = run.Output + run.Error;
        Assert.Contains("3 loads were recovered, without mails", said, StringComparison.Ordinal);
        Assert.Contains("0 subscriptions are in the database", said, StringComparison.Ordinal);
        Assert.DoesNotContain('@', said);
        Assert.Equal(3, said.Split(breaches).Length); // before and after
        Assert.Equal(mails, rig.Mails());
        Assert.Equal(table.Keys.Order(), (await rig.TableAsync()).Keys.Order());
        var after = rig.OpenContext();
        Assert.Equal(1, await after.Database.ListSubscribersAsync(None).CountAsync());
        Assert.All(await after.Database.ListLoadsAsync(null, None), load => Assert.False(load.IsRecovered));
    }

    [Fact]
    public async Task Restore_reports_recovered_loads_as_JSON_and_exits_with_1_on_a_lost_segment()
    {
        await using var rig = await StartAsync();
        await LoadAsync(rig, "Adobe.zip", 0);
        await LoadAsync(rig, "Bold.zip", 40);
        var folder = (await JournalManifest.ReadAsync(rig.Context.Log, None)).Loads[1].Folder;
        await rig.Context.Log.DeleteAsync(JournalNames.Segment(folder, 1), None);
        await rig.LoseDatabaseAsync();
        (await rig.HibpAsync("database", "restored")).FailedWith("hibp database restored --empty");
        var result = await rig.HibpAsync("database", "restored", "--empty", "--json");
        Assert.Equal(1, result.ExitCode);
        var json = result.Json;
        Assert.Equal(
            (2, 2, 1, 0, 0),
            (json.Number("load"), json.Number("mark"), json.Number("loads"), json.Number("subscriptions"), json.Number("missing")));
        var log = json.GetProperty("log");
        var load = Assert.Single(log.List("loads"));
        Assert.Equal(("Adobe", 130, true), (load.Text("breach"), load.Number("rows"), load.Flag("counts")));
        Assert.Contains(folder, Assert.Single(log.List("problems")).GetString(), StringComparison.Ordinal);
        Assert.Contains(folder, result.Error, StringComparison.Ordinal);
        Assert.DoesNotContain('@', result.Error + result.Output);
    }

    private static Task<PipelineRig> StartAsync() => PipelineRig.StartAsync(
        options => (options.Ingest.BatchRows, options.Ingest.SliceRows, options.Journal.Mode) = (100, 50, JournalMode.On));

    private static async Task LoadAsync(PipelineRig rig, string zip, int first, string? metadata = null)
    {
        await rig.ImportAsync(("user1@d1.example.org", null));
        await rig.DropAsync(zip, PipelineRig.Zip(("a.csv", PipelineRig.Accounts(first, 130))), metadata);
        await rig.RunToEndAsync();
    }
}
