namespace HibpIngest.Integration.Tests.Cli;

/// <summary>Tests the commands for passwords in two storage accounts.</summary>
public sealed class ReplicateCommandTests : CommandTestBase
{
    private const string Lines = "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:3\n7C4A8D09CA3762AF61E59520943DC26494F8941B:2\n";

    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();
        Variables["HIBP_PASSWORDS_REPLICAS"] = await AzuriteFixture.NewAccountAsync();
    }

    [Fact]
    public async Task Release_is_replicated_switched_and_deleted_in_both_accounts()
    {
        var file = Folder.Write("hashes.txt", Lines);
        // The replica doesn't have the release yet and doesn't serve it: that is reported, and isn't a failure.
        var imported = (await PasswordsAsync("import", file, "--release", "one")).Succeeded();
        Assert.Contains("hibp passwords replicate --release one", imported.Error, StringComparison.Ordinal);
        Assert.Equal(JsonValueKind.Null, (await ReplicaAsync()).GetProperty("served").ValueKind);

        (await PasswordsAsync("replicate")).Printed("has all of release one: 2 hashes");
        (await PasswordsAsync("replicate", "--release", "one")).Printed("none were copied");
        Assert.Equal("done", (await PasswordsAsync("switch", "pack", "--json")).Json.List("replicas")[0].Text("result"));
        Assert.Equal("one", (await ReplicaAsync()).GetProperty("served").Text("release"));

        (await PasswordsAsync("import", file, "--release", "two", "--no-switch")).Succeeded();
        (await PasswordsAsync("replicate", "--release", "two")).Succeeded();
        (await PasswordsAsync("switch", "pack", "--release", "two")).Succeeded();
        (await PasswordsAsync("delete", "one", "--yes")).Succeeded();
        Assert.Equal(["two"], (await ReplicaAsync()).List("releases").Select(name => name.GetString()));
    }

    [Fact]
    public async Task Unavailable_replica_is_reported_and_the_others_are_completed()
    {
        var file = Folder.Write("hashes.txt", Lines);
        // Nothing listens at port 1.
        var down = ConnectionStrings.Of("http://127.0.0.1:1");
        Variables["HIBP_PASSWORDS_REPLICAS"] = down + "\n" + Variables["HIBP_PASSWORDS_REPLICAS"];
        var imported = await PasswordsAsync("import", file, "--release", "one");
        Assert.Equal(1, imported.ExitCode);
        Assert.Contains("It is served", imported.Output, StringComparison.Ordinal);
        Assert.Contains("'hibp passwords switch pack --release one' completes it", imported.Error, StringComparison.Ordinal);
        var copied = await PasswordsAsync("replicate");
        Assert.Equal(1, copied.ExitCode);
        Assert.Contains("has all of release one: 2 hashes", copied.Output, StringComparison.Ordinal);
        var key = ConnectionStrings.Settings(down)["AccountKey"];
        Assert.DoesNotContain(key, imported.Error + copied.Error + copied.Output, StringComparison.Ordinal);

        Variables["HIBP_PASSWORDS_REPLICAS"] = "NO-ACCOUNT";
        (await PasswordsAsync("status")).FailedWith("HIBP_PASSWORDS_REPLICAS");
        Variables["HIBP_PASSWORDS_REPLICAS"] = Variables["HIBP_STORAGE"];
        (await PasswordsAsync("replicate")).FailedWith("to copy from");
    }

    private async Task<JsonElement> ReplicaAsync() => (await PasswordsAsync("status", "--json")).Json.List("replicas")[0];

    private Task<HibpResult> PasswordsAsync(params string[] arguments) => RunAsync(["passwords", .. arguments]);
}
