using System.Diagnostics;
using HibpIngest.Hosting;
using HibpIngest.Journal.Manifest;
using HibpIngest.Pipeline.Catalogue;

namespace HibpIngest.Integration.Tests.Cli;

/// <summary>Runs the restore drill of docs/operating.md as written there, and tests the commands' messages.</summary>
public sealed class RestoreDrillTests
{
    private const string Page = "docs/operating.md";
    private static readonly CancellationToken None = CancellationToken.None;

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

        var folder = Path.GetDirectoryName(rig.DatabaseFile)!;
        await File.WriteAllTextAsync(Path.Combine(folder, "subscribers.csv"), "email,domain\nuser1@d1.example.org,\n");
        var breaches = (await HibpInProcess.RunAsync(folder, Variables(rig), "breaches")).Succeeded().Output;
        var drill = Assert.Single(DocumentFiles.Snippets(Page, "sh"), snippet => snippet.Contains("--empty", StringComparison.Ordinal));
        var (code, said) = await ShellAsync(folder, drill, Variables(rig));
        Assert.True(code == 0, said);
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
        var home = Path.GetDirectoryName(rig.DatabaseFile)!;
        var refused = await HibpInProcess.RunAsync(home, Variables(rig), "database", "restored");
        Assert.Contains("hibp database restored --empty", refused.FailedWithOneLine(), StringComparison.Ordinal);
        var result = await HibpInProcess.RunAsync(home, Variables(rig), "database", "restored", "--empty", "--json");
        Assert.Equal(1, result.ExitCode);
        var json = result.Json;
        Assert.Equal(
            (2, 2, 1, 0, 0),
            (json.GetProperty("load").GetInt32(), json.GetProperty("mark").GetInt32(), json.GetProperty("loads").GetInt32(),
                json.GetProperty("subscriptions").GetInt32(), json.GetProperty("missing").GetInt32()));
        var log = json.GetProperty("log");
        var load = Assert.Single(log.GetProperty("loads").EnumerateArray());
        Assert.Equal(
            ("Adobe", 130, true),
            (load.GetProperty("breach").GetString(), load.GetProperty("rows").GetInt32(), load.GetProperty("counts").GetBoolean()));
        Assert.Contains(folder, Assert.Single(log.GetProperty("problems").EnumerateArray()).GetString(), StringComparison.Ordinal);
        Assert.Contains(folder, result.Error, StringComparison.Ordinal);
        Assert.DoesNotContain('@', result.Error + result.Output);
    }

    private static async Task<(int Code, string Said)> ShellAsync(
        string folder, string script, IReadOnlyDictionary<string, string> variables)
    {
        var start = new ProcessStartInfo("sh")
        {
            WorkingDirectory = folder,
            UseShellExecute = false,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        start.ArgumentList.Add("-c");
        start.ArgumentList.Add($"set -e\nhibp() {{ dotnet '{Path.Combine(AppContext.BaseDirectory, "hibp.dll")}' \"$@\"; }}\n{script}");
        foreach (var name in Environment.GetEnvironmentVariables().Keys.Cast<string>()
            .Where(name => name.StartsWith("HIBP_", StringComparison.OrdinalIgnoreCase)).ToList())
            start.Environment.Remove(name);
        start.Environment[HomeFolder.Variable] = Path.Combine(folder, ".hibp");
        foreach (var (name, value) in variables)
            start.Environment[name] = value;
        using var process = Process.Start(start)!;
        var (output, error) = (process.StandardOutput.ReadToEndAsync(), process.StandardError.ReadToEndAsync());
        using var late = new CancellationTokenSource(TimeSpan.FromMinutes(8));
        await process.WaitForExitAsync(late.Token);
        return (process.ExitCode, await output + await error);
    }

    private static Dictionary<string, string> Variables(PipelineRig rig) => new()
    {
        ["HIBP_STORAGE"] = rig.Connection,
        ["HIBP_DATABASE"] = rig.DatabaseFile,
        ["HIBP_MAIL"] = "pickup:" + rig.MailFolder,
    };

    private static Task<PipelineRig> StartAsync() => PipelineRig.StartAsync(
        options => (options.Ingest.BatchRows, options.Ingest.SliceRows, options.Journal.Mode) = (100, 50, JournalMode.On));

    private static async Task LoadAsync(PipelineRig rig, string zip, int first, string? metadata = null)
    {
        await rig.ImportAsync(("user1@d1.example.org", null));
        await rig.DropAsync(zip, PipelineRig.Zip(("a.csv", PipelineRig.Accounts(first, 130))), metadata);
        await rig.RunToEndAsync();
    }
}
