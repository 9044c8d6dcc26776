namespace HibpIngest.Integration.Tests.Cli;

/// <summary>Tests the commands for passwords in two storage accounts.</summary>
public sealed class ReplicateCommandTests : IAsyncLifetime
{
    private const string Lines = "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:3\n7C4A8D09CA3762AF61E59520943DC26494F8941B:2\n";

    private readonly TemporaryFolder _folder = new();
    private readonly Dictionary<string, string> _variables = [];

    public async Task InitializeAsync()
    {
        _variables["HIBP_STORAGE"] = await AzuriteFixture.NewAccountAsync();
        _variables["HIBP_PASSWORDS_REPLICAS"] = await AzuriteFixture.NewAccountAsync();
    }

    public Task DisposeAsync()
    {
        _folder.Dispose();
        return Task.CompletedTask;
    }

    [Fact]
    public async Task Release_is_replicated_switched_and_deleted_in_both_accounts()
    {
        var file = _folder.Write("hashes.txt", Lines);
        // The replica doesn't have the release yet and doesn't serve it: that is reported, and isn't a failure.
        var imported = await RunAsync("import", file, "--release", "one");
        Assert.Equal(0, imported.ExitCode);
        Assert.Contains("hibp passwords replicate --release one", imported.Error, StringComparison.Ordinal);
        Assert.Equal(JsonValueKind.Null, (await ReplicaAsync()).GetProperty("served").ValueKind);

        var copied = await RunAsync("replicate");
        Assert.Equal(0, copied.ExitCode);
        Assert.Contains("has all of release one: 2 hashes", copied.Output, StringComparison.Ordinal);
        Assert.Contains("none were copied", (await RunAsync("replicate", "--release", "one")).Output, StringComparison.Ordinal);
        using (var switched = JsonDocument.Parse((await RunAsync("switch", "pack", "--json")).Output))
            Assert.Equal("done", switched.RootElement.GetProperty("replicas")[0].GetProperty("result").GetString());
        Assert.Equal("one", (await ReplicaAsync()).GetProperty("served").GetProperty("release").GetString());

        Assert.Equal(0, (await RunAsync("import", file, "--release", "two", "--no-switch")).ExitCode);
        Assert.Equal(0, (await RunAsync("replicate", "--release", "two")).ExitCode);
        Assert.Equal(0, (await RunAsync("switch", "pack", "--release", "two")).ExitCode);
        Assert.Equal(0, (await RunAsync("delete", "one", "--yes")).ExitCode);
        Assert.Equal(["two"], (await ReplicaAsync()).GetProperty("releases").EnumerateArray().Select(name => name.GetString()));
    }

    [Fact]
    public async Task Unavailable_replica_is_reported_and_the_others_are_completed()
    {
        var file = _folder.Write("hashes.txt", Lines);
        // Nothing listens at port 1.
        const string Down = "AccountName=down;AccountKey=c2VjcmV0;BlobEndpoint=http://127.0.0.1:1/down;"
            + "QueueEndpoint=http://127.0.0.1:1/down;TableEndpoint=http://127.0.0.1:1/down";
        _variables["HIBP_PASSWORDS_REPLICAS"] = Down + "\n" + _variables["HIBP_PASSWORDS_REPLICAS"];
        var imported = await RunAsync("import", file, "--release", "one");
        Assert.Equal(1, imported.ExitCode);
        Assert.Contains("It is served", imported.Output, StringComparison.Ordinal);
        Assert.Contains("'hibp passwords switch pack --release one' completes it", imported.Error, StringComparison.Ordinal);
        var copied = await RunAsync("replicate");
        Assert.Equal(1, copied.ExitCode);
        Assert.Contains("has all of release one: 2 hashes", copied.Output, StringComparison.Ordinal);
        Assert.DoesNotContain("c2VjcmV0", imported.Error + copied.Error + copied.Output, StringComparison.Ordinal);

        _variables["HIBP_PASSWORDS_REPLICAS"] = "NO-ACCOUNT";
        Assert.Contains("HIBP_PASSWORDS_REPLICAS", (await RunAsync("status")).FailedWithOneLine(), StringComparison.Ordinal);
        _variables["HIBP_PASSWORDS_REPLICAS"] = _variables["HIBP_STORAGE"];
        Assert.Contains("to copy from", (await RunAsync("replicate")).FailedWithOneLine(), StringComparison.Ordinal);
    }

    private async Task<JsonElement> ReplicaAsync()
    {
        using var status = JsonDocument.Parse((await RunAsync("status", "--json")).Output);
        return status.RootElement.GetProperty("replicas")[0].Clone();
    }

    private Task<HibpResult> RunAsync(params string[] arguments) =>
        HibpInProcess.RunAsync(_folder.Path, _variables, ["passwords", .. arguments]);
}
