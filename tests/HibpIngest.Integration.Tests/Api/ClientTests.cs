using HibpIngest.Cli.Emulator;

namespace HibpIngest.Integration.Tests.Api;

public sealed class ClientTests(WebFixture fixture) : IClassFixture<WebFixture>
{
    [Fact]
    public async Task Hibp_client_calls_return_the_right_results_with_and_without_a_key()
    {
        await using var open = await WebRig.StartAsync(fixture.Pipeline.Connection, isOpen: true);
        var (openly, keyed) = (await CallAsync(open.Address, "-"), await CallAsync(fixture.Web.Address, fixture.AllScopes));
        foreach (var results in (JsonElement[])[openly, keyed])
        {
            Assert.Equal(["Alpha", "Beta"], Names(results, "breachedAccount"));
            Assert.Equal("The Alpha breach", Value(results, "breachedAccountWhole")[0].GetProperty("Title").GetString());
            Assert.Equal(["Alpha"], Names(results, "breachedAccountVerified"));
            Assert.Equal(["Alpha"], Names(results, "breachedAccountDomain"));
            Assert.Equal(JsonValueKind.Null, Value(results, "breachedAccountNobody").ValueKind);
            Assert.StartsWith("Bad request", Error(results, "breachedAccountEmpty"), StringComparison.Ordinal);
            Assert.Equal(
                """{"all":["Alpha","Beta","Gamma"],"alpha+tag":["Alpha"],"gamma":["Gamma"]}""",
                Value(results, "breachedDomain").GetRawText());
            Assert.Equal("The Alpha breach", Value(results, "breach").GetProperty("Title").GetString());
            Assert.Equal(JsonValueKind.Null, Value(results, "breachNone").ValueKind);
            Assert.Equal(["Alpha", "Beta", "Delta", "Gamma"], Names(results, "breaches"));
            Assert.Equal(["Beta"], Names(results, "breachesDomain"));
            Assert.Equal("""["Email addresses","Passwords"]""", Value(results, "dataClasses").GetRawText());
            Assert.NotEqual("Hidden", Value(results, "latestBreach").GetProperty("Name").GetString());
            Assert.Equal(JsonValueKind.Null, Value(results, "pasteAccount").ValueKind);
            Assert.Equal(
                """{"breaches":[{"Name":"Alpha"},{"Name":"Beta"}],"pastes":null}""", Value(results, "search").GetRawText());
            Assert.Equal("""{"breaches":null,"pastes":null}""", Value(results, "searchNobody").GetRawText());
            Assert.StartsWith("Forbidden", Error(results, "stealerLogsByEmail"), StringComparison.Ordinal);
        }
        Assert.Equal(JsonValueKind.Null, Value(openly, "breachedDomainOther").ValueKind);
        Assert.StartsWith("Forbidden", Error(keyed, "breachedDomainOther"), StringComparison.Ordinal);
        Assert.Equal(2, Value(keyed, "subscribedDomains").GetArrayLength());
        Assert.Equal(60_000, Value(keyed, "subscriptionStatus").GetProperty("Rpm").GetInt32());
        Assert.Equal(JsonValueKind.Null, Value(openly, "subscriptionStatus").ValueKind);
    }

    [Fact]
    public async Task Hibp_client_receives_the_delay_when_rate_limited()
    {
        var results = await CallAsync(fixture.Web.Address, await fixture.Web.AddKeyAsync("slow", KeyScopes.Search, rpm: 1));
        Assert.Matches("^Rate limit is exceeded. Try again in [0-9]+ seconds?.$", Error(results, "breachedAccountWhole"));
        Assert.InRange(results.GetProperty("breachedAccountWhole").GetProperty("retryAfterSeconds").GetInt32(), 1, 60);
    }

    private static async Task<JsonElement> CallAsync(Uri server, string key)
    {
        var folder = Path.GetDirectoryName(RepositoryFile.Path(
            Path.Combine("tests", "HibpIngest.Integration.Tests", "Api", "clients", "package.json")))!;
        var proof = Path.Combine(folder, "node_modules", "hibp", "package.json");
        await NodePackages.InstallAsync(folder, "clients of the API", proof, progress: null, None);
        var (output, _) = await ExternalProgram.RunAsync(
            "node", Path.Combine(folder, "hibp.mjs"), $"{server}api/v3", key, WebFixture.InAll, "example.com");
        return JsonElement.Parse(output);
    }

    private static JsonElement Value(JsonElement results, string call)
    {
        Assert.True(results.GetProperty(call).TryGetProperty("value", out var value), $"{call}: {results.GetProperty(call)}");
        return value;
    }

    private static string[] Names(JsonElement results, string call) =>
        [.. Value(results, call).EnumerateArray().Select(breach => breach.GetProperty("Name").GetString()!)];

    private static string Error(JsonElement results, string call) => results.GetProperty(call).GetProperty("error").GetString()!;
}
