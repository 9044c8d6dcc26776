namespace HibpIngest.Integration.Tests.Cli;

public sealed class ClientsCommandTests : CommandTestBase
{
    private const string Url = "https://contoso.example/breached";

    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();
        Variables.Remove("HIBP_DATABASE"); // not needed here
        Variables["HIBP_SECRET_KEY"] = Convert.ToBase64String(RandomNumberGenerator.GetBytes(32));
    }

    [Fact]
    public async Task Client_is_added_listed_paused_resumed_rotated_and_removed()
    {
        (await RunAsync("clients", "list")).Printed("There are no clients");
        var added = await JsonAsync("clients", "add", "Contoso", "--url", Url, "--cap", "16");
        Assert.Matches("^[0-9a-f]{32}$", added.Text("key"));
        Assert.Matches("^[0-9a-f]{64}$", added.Text("secret"));
        var shown = (await RunAsync("clients", "add", "Fabrikam", "--url", Url, "--sensitive")).Succeeded();
        Assert.Matches("^key     [0-9a-f]{32}\nsecret  [0-9a-f]{64}\n$", shown.Output.ReplaceLineEndings("\n"));
        Assert.Contains("only time", shown.Error, StringComparison.Ordinal);

        var list = await ListAsync();
        Assert.Equal(
            [("Contoso", 16, false, Url, 0), ("Fabrikam", 4, true, Url, 0)],
            list.Select(client => (
                client.Text("name"), client.Number("cap"), client.Flag("sensitive"), client.Text("url"), client.Number("prefixes"))));
        // The client's key is listed among the API keys.
        Assert.Equal(["Contoso", "Fabrikam"], (await JsonAsync("keys", "list")).List("keys").Select(key => key.Text("name")));

        Assert.True((await JsonAsync("clients", "pause", "contoso")).Flag("paused"));
        Assert.Equal([true, false], (await ListAsync()).Select(client => client.Flag("paused")));
        (await RunAsync("clients", "list")).Printed("paused");
        Assert.Equal("Contoso is called.", (await RunAsync("clients", "resume", "contoso")).Succeeded().Output.Trim());

        var rotated = await JsonAsync("clients", "rotate", "Contoso");
        Assert.Null(rotated.Text("key"));
        Assert.NotEqual(added.Text("secret"), rotated.Text("secret"));
        rotated = await JsonAsync("clients", "rotate", "Contoso", "--key");
        Assert.NotEqual(added.Text("key"), rotated.Text("key"));
        Assert.Null(rotated.Text("secret"));

        var unasked = await RunAsync("clients", "remove", "Contoso");
        Assert.Equal(2, unasked.ExitCode);
        Assert.Contains("--yes", unasked.Error, StringComparison.Ordinal);
        Assert.Equal("Contoso", (await JsonAsync("clients", "remove", "Contoso", "--yes")).Text("removed"));
        Assert.Equal(["Fabrikam"], (await ListAsync()).Select(client => client.Text("name")));
        (await RunAsync("clients", "pause", "Contoso")).FailedWith("hibp clients list");

        Variables.Remove("HIBP_SECRET_KEY");
        var line = (await RunAsync("clients", "add", "Contoso", "--url", Url)).FailedWith("HIBP_SECRET_KEY");
        Assert.Contains("openssl rand -base64 32", line, StringComparison.Ordinal);
        Assert.Single(await ListAsync());
    }

    [Theory]
    [InlineData("https", "http://contoso.example/breached")]
    [InlineData("https", "https://user:password@contoso.example/breached")]
    [InlineData("https", "contoso.example")]
    [InlineData("--cap", Url, "--cap", "0")]
    [InlineData("--cap", Url, "--cap", "257")]
    [InlineData("--rpm", Url, "--rpm", "0")]
    public async Task Client_with_an_invalid_url_or_limit_is_refused_and_not_stored(string expected, string url, params string[] further)
    {
        var line = (await RunAsync(["clients", "add", "Contoso", "--url", url, .. further])).FailedWith(expected);
        Assert.DoesNotContain("password@", line, StringComparison.Ordinal);
        Assert.Empty(await ListAsync());
    }

    private async Task<IReadOnlyList<JsonElement>> ListAsync() => (await JsonAsync("clients", "list")).List("clients");
}
