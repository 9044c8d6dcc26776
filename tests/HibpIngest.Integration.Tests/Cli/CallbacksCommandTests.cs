using HibpIngest.Pipeline.Mail;

namespace HibpIngest.Integration.Tests.Cli;

public sealed class CallbacksCommandTests
{
    [Fact]
    public async Task Callbacks_are_previewed_listed_retried_and_dropped()
    {
        var clock = new TestClock();
        await using var rig = await CallRig.StartAsync(clock);
        await rig.AddAsync("Contoso", CallRig.AllPrefixes);
        await rig.AddAsync("Fabrikam", CallRig.PrefixesOf(0, 10));
        await rig.AddAsync("Nobody", []);
        await rig.DropAsync("X", 0, 100, """{"notify":"hold"}""");
        await rig.RunToEndAsync();

        var preview = (await RunAsync(rig, "notify", "X", "--dry-run", "--json")).Succeeded().Json.List("calls");
        Assert.Equal(
            [("Contoso", 100, true, 4), ("Fabrikam", 10, true, 4)],
            preview.Select(one => (one.Text("client"), one.Number("calls"), one.Flag("exact"), one.Number("cap"))));
        Assert.Equal(100 * 0.1 / 4, preview[0].GetProperty("seconds").GetDouble(), 0.01);
        (await RunAsync(rig, "notify", "X", "--dry-run")).Printed("110 calls would be made");
        Assert.Empty(rig.Caller.Calls);
        (await RunAsync(rig, "callbacks", "list")).Printed("There are no callbacks yet");

        // One client rejects everything for three days, the other accepts everything.
        rig.Caller.Answer = call => Task.FromResult(
            call.Url.Contains("contoso", StringComparison.OrdinalIgnoreCase) ? RecordingCaller.Refused : RecordingCaller.Accepted);
        await rig.Context.Get<MailOperations>().NotifyAsync("X", None);
        await rig.RunToEndAsync();
        Assert.Equal((100, 0), await ContosoFiguresAsync(rig, "open", "dead"));
        for (var hours = 0; hours < 74; hours++)
        {
            clock.Advance(TimeSpan.FromHours(1));
            await rig.SweepAsync();
        }
        Assert.Equal((0, 100), await ContosoFiguresAsync(rig, "open", "dead"));
        (await RunAsync(rig, "callbacks", "list")).Printed("it answered 500");
        var status = (await RunAsync(rig, "status", "--json")).Succeeded().Json.List("loads")[0].GetProperty("calls");
        Assert.Equal((110, 10, 100), (status.Number("calls"), status.Number("answered"), status.Number("dead")));
        (await RunAsync(rig, "status")).Printed("100 abandoned (hibp callbacks list)");

        Assert.Equal(100, (await RunAsync(rig, "callbacks", "retry", "contoso", "--json")).Succeeded().Json.Number("calls"));
        Assert.Equal((100, 0), await ContosoFiguresAsync(rig, "open", "dead"));
        (await RunAsync(rig, "callbacks", "retry", "--breach", "x")).Printed("There are no calls to retry");

        var unasked = await RunAsync(rig, "callbacks", "drop", "Contoso");
        Assert.Equal(2, unasked.ExitCode);
        Assert.Contains("--yes", unasked.Error, StringComparison.Ordinal);
        Assert.Equal(0, (await RunAsync(rig, "callbacks", "drop", "Contoso", "--yes", "--json")).Succeeded().Json.Number("calls"));
        Assert.Equal((100, 0), await ContosoFiguresAsync(rig, "open", "dead"));
        (await RunAsync(rig, "callbacks", "drop", "Contoso", "--breach", "X", "--open", "--yes")).Printed("100 calls are dropped");
        Assert.Equal((0, 100), await ContosoFiguresAsync(rig, "open", "dropped"));
        await rig.SettleAsync();
        Assert.DoesNotContain(rig.Caller.Taken, call => call.Url.Contains("contoso", StringComparison.OrdinalIgnoreCase));
        (await RunAsync(rig, "callbacks", "retry", "Unknown")).FailedWith("hibp clients list");
        (await RunAsync(rig, "callbacks", "drop", "--breach", "Nothing", "--yes")).FailedWith("there is no breach 'Nothing'");
    }

    [Fact]
    public async Task Callbacks_of_a_removed_client_are_dropped_by_its_number()
    {
        var clock = new TestClock();
        await using var rig = await CallRig.StartAsync(clock, options => options.Callbacks.CallGiveUp = TimeSpan.FromHours(1));
        var client = await rig.AddAsync("Contoso", CallRig.AllPrefixes);
        rig.Caller.Answer = _ => Task.FromResult(RecordingCaller.Refused);
        await rig.DropAsync("X", 0, 30);
        await rig.SettleAsync();
        Assert.Equal(30, (await rig.CallsAsync(1)).Abandoned);
        await rig.NewClientOperations().RemoveAsync("Contoso", None);
        var number = $"{client.Client.Number}";
        (await RunAsync(rig, "callbacks", "list")).Printed($"{number} (removed)");
        Assert.Equal(30, (await RunAsync(rig, "callbacks", "drop", number, "--yes", "--json")).Succeeded().Json.Number("calls"));
        Assert.Equal(0, (await rig.CallsAsync(1)).Abandoned);
    }

    [Fact]
    public async Task Doctor_reports_clients_broken_without_the_key_that_sealed_their_secrets()
    {
        await using var rig = await CallRig.StartAsync();
        await rig.AddAsync("Contoso", []);
        Assert.Equal("ok", await ClientsCheckAsync(rig, rig.SecretKey));
        var other = Convert.ToBase64String(new byte[32]);
        Assert.Equal("ok", await ClientsCheckAsync(rig, $"{other},{rig.SecretKey}"));
        Assert.Equal("broken", await ClientsCheckAsync(rig, other));
        Assert.Equal("broken", await ClientsCheckAsync(rig, null));
    }

    private static async Task<string?> ClientsCheckAsync(CallRig rig, string? secretKey) =>
        (await RunWithKeyAsync(rig, secretKey, "doctor", "--json")).Json.List("checks")
            .Single(check => check.Text("check") == "clients").Text("state");

    /// <summary>Returns two figures of the client Contoso.</summary>
    private static async Task<(long, long)> ContosoFiguresAsync(CallRig rig, string one, string other)
    {
        var found = (await RunAsync(rig, "callbacks", "list", "--json")).Succeeded().Json.List("callbacks")
            .Single(item => item.Text("client") == "Contoso");
        Assert.Equal("X", found.Text("breach"));
        return (found.Number(one), found.Number(other));
    }

    private static Task<HibpResult> RunAsync(CallRig rig, params string[] arguments) =>
        RunWithKeyAsync(rig, rig.SecretKey, arguments);

    private static Task<HibpResult> RunWithKeyAsync(CallRig rig, string? secretKey, params string[] arguments)
    {
        var variables = rig.Stores.Variables;
        variables["HIBP_JOURNAL"] = "off";
        if (secretKey is not null)
            variables["HIBP_SECRET_KEY"] = secretKey;
        return HibpInProcess.RunAsync(rig.Stores.Folder, variables, arguments);
    }
}
