namespace HibpIngest.Deployment.Tests.Functions;

/// <summary>Tests the published pipeline app in its worker process, invoked as the Functions host does, on real stores.</summary>
public sealed class FunctionsPipelineTests
{
    [Fact]
    public async Task Dropped_zip_is_processed_through_every_stage_to_sent_mail()
    {
        var zip = RepositoryFile.Path("samples/Contoso.zip");
        var accounts = await AcceptanceContract.ExtractAsync(zip);
        var subscribers = (await File.ReadAllLinesAsync(RepositoryFile.Path("samples/subscribers.csv")))
            .Skip(1).Select(line => line.ToLowerInvariant().Split(',')).ToList();

        await using var host = await FunctionsHost.StartAsync(
            new Dictionary<string, string> { ["HIBP_BATCHROWS"] = "1000", ["HIBP_SLICEROWS"] = "500" },
            (await PublishedApp.PipelineAsync()).Folder);
        (await host.HibpAsync("subscribers", "import", RepositoryFile.Path("samples/subscribers.csv"))).Succeeded();
        await host.DropAsync("2024/q4/Contoso.json", await File.ReadAllBytesAsync(RepositoryFile.Path("samples/Contoso.json")));
        (await host.IngestAsync("2024/q4/Contoso.zip", await File.ReadAllBytesAsync(zip))).AssertDone();
        var counts = await host.PumpAsync();

        Assert.Equal((10, 0), counts["UpsertSlice"]);
        Assert.Equal((1, 0), counts["MatchSubscribers"]);
        Assert.Equal((1, 0), counts["SendNotifications"]);
        var table = await RawTable.ReadAccountsAsync(host.Storage, "accounts");
        Assert.Equal(accounts.Order(), table.Keys.Order());
        Assert.All(table.Values, breaches => Assert.Equal(["b1"], breaches));
        var due = subscribers.Where(one => one[1].Length == 0 ? accounts.Contains(one[0])
            : accounts.Any(account => account.EndsWith($"@{one[1]}", StringComparison.Ordinal))).Select(one => one[0]);
        var mails = Directory.GetFiles(host.MailFolder, "*.eml").Select(file => MailReader.Read(File.ReadAllBytes(file)).Header("To"));
        Assert.Equal(due.Order(), mails.Order());

        var load = (await host.HibpAsync("status", "Contoso", "--json")).Succeeded().Json.GetProperty("loads")[0];
        Assert.Equal(("done", accounts.Count), (load.GetProperty("state").GetString(), load.GetProperty("accounts").GetInt32()));

        // The event is sometimes delivered twice, and the sweep finds the blob too.
        (await host.InvokeBlobAsync("2024/q4/Contoso.zip")).AssertDone();
        (await host.InvokeTimerAsync()).AssertDone();
        Assert.Empty(await host.PumpAsync());
        await host.StopWorkerAsync();
        Assert.DoesNotContain('@', host.Worker.Said);
        Assert.Contains("of Contoso: copied", host.Worker.Said, StringComparison.Ordinal);
    }
}
