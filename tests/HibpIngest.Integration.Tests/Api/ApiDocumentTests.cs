using HibpIngest.Api.Callers;
using HibpIngest.Api.Routes;
using HibpIngest.Passwords.Releases;
using HibpIngest.Pipeline.Callbacks;

namespace HibpIngest.Integration.Tests.Api;

/// <summary>Tests that docs/api.md and the OpenAPI document describe what the API does.</summary>
public sealed partial class ApiDocumentTests(WebFixture fixture) : IClassFixture<WebFixture>
{
    private static readonly string Text = File.ReadAllText(RepositoryFile.Path(Path.Combine("docs", "api.md")));

    [Fact]
    public async Task Every_documented_example_returns_the_documented_response()
    {
        await using var web = await WebRig.StartAsync(fixture.Pipeline.Connection, configure: options => options.TestAccounts = true);
        using var account = HibpIngest.Storage.Azure.StorageAccount.Open(fixture.Pipeline.Connection, NullLoggerFactory.Instance);
        using var secretKeys = SecretKeys.Parse(Convert.ToBase64String(new byte[32]))!;
        var client = await new ClientOperations(account.Clients, account.Keys, account.Prefixes, secretKeys, TimeProvider.System)
            .AddAsync("client", "https://client.example/", isSensitive: false, cap: 1, rpm: 60_000, None);
        var sha = Convert.ToHexString(SHA1.HashData(Encoding.ASCII.GetBytes(WebFixture.InAll)));
        var examples = Example().Matches(Text);
        Assert.True(examples.Count >= 17, $"{examples.Count} examples");
        foreach (Match example in examples)
        {
            var command = example.Groups["command"].Value
                .Replace("http://127.0.0.1:8080", web.Address.AbsoluteUri.TrimEnd('/'), StringComparison.Ordinal)
                .Replace("ALLSHA", sha[..6], StringComparison.Ordinal);
            var (output, _) = await ExternalProgram.RunAsync(
                "env", $"KEY={fixture.AllScopes}", $"CLIENT_KEY={client.Key}", "bash", "-c", command);
            AssertLike(JsonElement.Parse(example.Groups["answer"].Value), JsonElement.Parse(output));
        }
    }

    [Fact]
    public async Task OpenAPI_document_matches_the_archived_contract_and_actual_responses()
    {
        var document = (await fixture.Web.GetAsync("/openapi/v3.json", agent: null)).Json;
        var paths = document.GetProperty("paths").EnumerateObject().Select(path => path.Name).ToList();
        // The paths of the archived contract (api-evangelist/have-i-been-pwned, commit 771c37f) that are served.
        foreach (var path in (string[])["breachedaccount/{account}", "breachedaccount/range/{prefix}", "breacheddomain/{domain}",
            "subscribeddomains", "breaches", "breach/{name}", "latestbreach", "dataclasses", "subscription/status",
            "pasteaccount/{account}"])
            Assert.Contains($"/api/v3/{path}", paths);
        var breach = document.GetProperty("components").GetProperty("schemas").GetProperty("PublicBreach").GetProperty("properties")
            .EnumerateObject().Select(property => property.Name).Order();
        var real = (await fixture.Web.GetAsync("/api/v3/breach/Alpha")).Json.EnumerateObject().Select(property => property.Name).Order();
        Assert.Equal(real, breach);
        var account = document.GetProperty("paths").GetProperty("/api/v3/breachedaccount/{account}").GetProperty("get");
        // Keys are security schemes: OpenAPI offers generated clients no other way to be given one.
        Assert.Equal(
            ["account", "truncateResponse", "domain", "includeUnverified", "user-agent"],
            account.GetProperty("parameters").EnumerateArray().Select(one => one.GetProperty("name").GetString()!));
        Assert.Equal(
            ["200", "400", "401", "403", "404", "429", "503"],
            account.GetProperty("responses").EnumerateObject().Select(response => response.Name).Order());
        var range = document.GetProperty("paths").GetProperty("/api/v3/breachedaccount/range/{prefix}").GetProperty("get");
        Assert.True(range.GetProperty("responses").GetProperty("404").GetProperty("content").TryGetProperty("text/plain", out _));
        Assert.True(range.GetProperty("responses").GetProperty("429").GetProperty("content").TryGetProperty("application/json", out _));
        var append = document.GetProperty("paths").GetProperty("/ingestion/append").GetProperty("post");
        Assert.Equal(["hibp-api-key"], SchemesOf(account));
        Assert.Equal(["Ocp-Apim-Subscription-Key", "hibp-api-key"], SchemesOf(append));
        Assert.Empty(SchemesOf(document.GetProperty("paths").GetProperty("/range/{prefix}").GetProperty("get")));
        Assert.Equal(
            ["200", "400", "401", "403", "413", "415", "429", "503"],
            append.GetProperty("responses").EnumerateObject().Select(response => response.Name).Order());
        Assert.True(append.GetProperty("requestBody").GetProperty("content").TryGetProperty("application/json", out _));
    }

    [Fact]
    public async Task Documentation_and_OpenAPI_document_list_exactly_the_routes()
    {
        var routes = RoutesOf(fixture.Web).Order().ToList();
        var sections = Section().Matches(Text).Select(section => section.Groups["route"].Value).Order();
        Assert.Equal(string.Join('\n', routes), string.Join('\n', sections));

        var document = (await fixture.Web.GetAsync("/openapi/v3.json", agent: null)).Json;
        var operations = document.GetProperty("paths").EnumerateObject().SelectMany(
            path => path.Value.EnumerateObject().Select(one => (Name: $"{one.Name.ToUpperInvariant()} {path.Name}", one.Value))).ToList();
        Assert.Equal(routes, operations.Select(one => one.Name).Order());
        Assert.All(operations, one => Assert.NotEqual("", one.Value.GetProperty("summary").GetString()));
        var ids = operations.Select(one => one.Value.GetProperty("operationId").GetString()).ToList();
        Assert.Equal(ids.Distinct(), ids);
        // Every operation that requires a key declares it.
        Assert.All(operations, one => Assert.Equal(
            one.Value.GetProperty("responses").TryGetProperty("401", out _), SchemesOf(one.Value).Count > 0));
    }

    private static IReadOnlyList<string> SchemesOf(JsonElement operation) => operation.TryGetProperty("security", out var security)
        ? [.. security.EnumerateArray().SelectMany(one => one.EnumerateObject().Select(scheme => scheme.Name))] : [];

    private static IEnumerable<string> RoutesOf(WebRig web) => ApiRoute.AllOf(web.Services)
        .Where(route => !route.Methods.Contains("OPTIONS"))
        .Select(route => $"{route.Methods[0]} {route.Template.Replace("?}", "}", StringComparison.Ordinal)}");

    /// <summary>Asserts equality, where "…" matches any text.</summary>
    private static void AssertLike(JsonElement expected, JsonElement found)
    {
        var pattern = Regex.Escape(JsonSerializer.Serialize(expected))
            .Replace(@"""\\u2026""", @"""([^""\\]|\\.)*""", StringComparison.Ordinal);
        Assert.Matches(new Regex($"^{pattern}$", RegexOptions.NonBacktracking), JsonSerializer.Serialize(found));
    }

    [GeneratedRegex("^### (?<route>(GET|POST|PUT|DELETE) .*)$", RegexOptions.Multiline | RegexOptions.ExplicitCapture,
        matchTimeoutMilliseconds: 10_000)]
    private static partial Regex Section();

    [GeneratedRegex(
        "```bash\n(?<command>curl [^`]*)```\n\n```json\n(?<answer>[^`]*)```", RegexOptions.ExplicitCapture,
        matchTimeoutMilliseconds: 10_000)]
    private static partial Regex Example();
}
