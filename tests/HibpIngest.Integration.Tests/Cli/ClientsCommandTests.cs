using System.Security.Cryptography;

namespace HibpIngest.Integration.Tests.Cli;

/// <summary>Tests <c>hibp clients</c> as a process.</summary>
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
        Assert.Contains("There are no clients", (await RunAsync("clients", "list")).Succeeded().Output, StringComparison.Ordinal);
        var added = (await RunAsync("clients", "add", "Contoso", "--url", Url, "--cap", "16", "--json")).Succeeded().Json;
        Assert.Matches("^[0-9a-f]{32}$", added.GetProperty("key").GetString());
        Assert.Matches("^[0-9a-f]{64}$", added.GetProperty("secret").GetString());
        var shown = (await RunAsync("clients", "add", "Fabrikam", "--url", Url, "--sensitive")).Succeeded();
        Assert.Matches("^key     [0-9a-f]{32}\nsecret  [0-9a-f]{64}\n$", shown.Output.ReplaceLineEndings("\n"));
        Assert.Contains("only time", shown.Error, StringComparison.Ordinal);

        var list = await ListAsync();
        Assert.Equal(["Contoso", "Fabrikam"], list.Select(client => client.GetProperty("name").GetString()));
        Assert.Equal([16, 4], list.Select(client => client.GetProperty("cap").GetInt32()));
        Assert.Equal([false, true], list.Select(client => client.GetProperty("sensitive").GetBoolean()));
        Assert.All(list, client => Assert.Equal((Url, 0), (
            client.GetProperty("url").GetString(), client.GetProperty("prefixes").GetInt32())));
        // The client's key is listed among the API keys.
        var keys = (await RunAsync("keys", "list", "--json")).Succeeded().Json.GetProperty("keys");
        Assert.Equal(["Contoso", "Fabrikam"], keys.EnumerateArray().Select(key => key.GetProperty("name").GetString()));

        Assert.True((await RunAsync("clients", "pause", "contoso", "--json")).Succeeded().Json.GetProperty("paused").GetBoolean());
        Assert.Equal([true, false], (await ListAsync()).Select(client => client.GetProperty("paused").GetBoolean()));
        Assert.Contains("paused", (await RunAsync("clients", "list")).Succeeded().Output, StringComparison.Ordinal);
        Assert.Equal("Contoso is called.", (await RunAsync("clients", "resume", "contoso")).Succeeded().Output.Trim());

        var rotated = (await RunAsync("clients", "rotate", "Contoso", "--json")).Succeeded().Json;
        Assert.Equal(JsonValueKind.Null, rotated.GetProperty("key").ValueKind);
        Assert.NotEqual(added.GetProperty("secret").GetString(), rotated.GetProperty("secret").GetString());
        rotated = (await RunAsync("clients", "rotate", "Contoso", "--key", "--json")).Succeeded().Json;
        Assert.NotEqual(added.GetProperty("key").GetString(), rotated.GetProperty("key").GetString());
        Assert.Equal(JsonValueKind.Null, rotated.GetProperty("secret").ValueKind);

        var unasked = await RunAsync("clients", "remove", "Contoso");
        Assert.Equal(2, unasked.ExitCode);
        Assert.Contains("--yes", unasked.Error, StringComparison.Ordinal);
        Assert.Equal("Contoso", (await RunAsync("clients", "remove", "Contoso", "--yes", "--json")).Succeeded().Json
            .GetProperty("removed").GetString());
        Assert.Equal(["Fabrikam"], (await ListAsync()).Select(client => client.GetProperty("name").GetString()));
        Assert.Contains("hibp clients list", (await RunAsync("clients", "pause", "Contoso")).FailedWithOneLine(), StringComparison.Ordinal);
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
        var line = (await RunAsync(["clients", "add", "Contoso", "--url", url, .. further])).FailedWithOneLine();
        Assert.Contains(expected, line, StringComparison.Ordinal);
        Assert.DoesNotContain("password@", line, StringComparison.Ordinal);
        Assert.Empty(await ListAsync());
    }

    [Fact]
    public async Task Client_add_requires_the_secret_key()
    {
        Variables.Remove("HIBP_SECRET_KEY");
        var line = (await RunAsync("clients", "add", "Contoso", "--url", Url)).FailedWithOneLine();
        Assert.Contains("HIBP_SECRET_KEY", line, StringComparison.Ordinal);
        Assert.Contains("openssl rand -base64 32", line, StringComparison.Ordinal);
        Assert.Empty(await ListAsync());
    }

    private async Task<JsonElement[]> ListAsync() =>
        [.. (await RunAsync("clients", "list", "--json")).Succeeded().Json.GetProperty("clients").EnumerateArray()];
}
