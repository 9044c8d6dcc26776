using Azure.Data.Tables;
using HibpIngest.Hosting.Telemetry;

namespace HibpIngest.Integration.Tests.Functions;

/// <summary>Tests the API's Functions app as its host serves it: hostile requests, many callers, and no address in a log.</summary>
public sealed class ApiCaseTests : IAsyncLifetime
{
    private const string AnyKey = "00000000000000000000000000000000";

    private readonly TemporaryFolder _folder = new();
    private readonly HttpClient _http = new(new SocketsHttpHandler { MaxConnectionsPerServer = 200 });
    private TelemetryEndpoint _telemetry = null!;
    private string _storage = "";

    public static TheoryData<string> Drivers => [.. DrivenApp.Drivers];

    public async Task InitializeAsync() => _telemetry = await TelemetryEndpoint.StartAsync();

    public async Task DisposeAsync()
    {
        _http.Dispose();
        _folder.Dispose();
        await _telemetry.DisposeAsync();
    }

    [Theory]
    [MemberData(nameof(Drivers))]
    public async Task Concurrent_callers_are_answered_despite_a_forged_invocation(string driver)
    {
        await using var api = await StartAsync(driver);
        var worker = await api.FindWorkerAsync();
        using var forged = new HttpRequestMessage(HttpMethod.Get, new Uri(api.Address, "healthz"));
        forged.Headers.Add(ApiHost.InvocationHeader, Guid.NewGuid().ToString());
        var refused = _http.SendAsync(forged);
        var answers = await Task.WhenAll(Enumerable.Range(0, 200).Select(
            i => AskAsync(api, $"api/v3/breachedaccount/{(i % 2 == 0 ? "account-exists" : "not-there")}%40hibp-integration-tests.com")));
        Assert.Equal(Enumerable.Range(0, 200).Select(i => i % 2 == 0 ? 200 : 404), answers.Select(answer => answer.Status));
        Assert.Equal("""[{"Name":"Adobe"}]""", answers[0].Body);
        using (var answer = await refused)
            Assert.Equal(HttpStatusCode.InternalServerError, answer.StatusCode);
        Assert.Equal(200, (await AskAsync(api, "healthz")).Status);
        Assert.Equal(worker, await api.FindWorkerAsync());
        await AssertSilentAsync(api, EventIds.ApiAppSettings);
    }

    /// <summary>docs/deploying.md describes how the host changes a path.</summary>
    [Theory]
    [MemberData(nameof(Drivers))]
    public async Task Unusual_paths_reach_the_api_but_no_log(string driver)
    {
        await using var api = await StartAsync(driver);
        (string Path, int Expected)[] accounts =
        [
            ("somebody%40example.com", 404), ("somebody%2540example.com", 400), ("somebody%23%3F%40example.com", 404),
            ("somebody%5Cx%40example.com", 404), ("a;b%40example.com", 404), ("%61ccount-exists%40hibp-integration-tests.com", 200),
        ];
        foreach (var (account, expected) in accounts)
        {
            var (status, body) = await AskAsync(api, $"api/v3/breachedaccount/{account}");
            Assert.Equal((account, expected), (account, status));
            Assert.DoesNotContain("Unknown route", body, StringComparison.Ordinal);
        }
        string[] unknown = ["%2e%2e/%2e%2e/somebody%40example.com", "UpsertSlice", "admin/functions/Web/somebody%40example.com"];
        foreach (var path in unknown)
        {
            var (status, body) = await AskAsync(api, path);
            Assert.Equal((path, 404), (path, status));
            Assert.Contains("Unknown route", body, StringComparison.Ordinal);
        }
        Assert.Equal(404, (await AskAsync(api, "range/00000")).Status);
        Assert.Equal(200, (await AskAsync(api, "openapi/v3.json")).Status);
        // A lookup that fails.
        await new TableServiceClient(_storage).DeleteTableAsync("accounts");
        Assert.Equal(503, (await AskAsync(api, "api/v3/breachedaccount/somebody%40example.com")).Status);
        await AssertSilentAsync(api, EventIds.WebServerFailed);
    }

    [Theory]
    [MemberData(nameof(Drivers))]
    public async Task Pages_are_served_if_there_are_link_keys(string driver)
    {
        // As under func start: in development, scoped services can't be taken from the root.
        await using var api = await StartAsync(
            driver, ("HIBP_LINK_KEYS", Convert.ToBase64String(new byte[32])), ("AZURE_FUNCTIONS_ENVIRONMENT", "Development"));
        var home = await AskAsync(api, "");
        Assert.Equal(200, home.Status);
        Assert.Contains("<form class=\"search\" data-search=\"range\"", home.Body, StringComparison.Ordinal);
        var script = home.Body.Split("<script src=\"/")[1].Split('"')[0];
        foreach (var path in (string[])["breaches", "privacy", "breaches.atom", "robots.txt", script])
            Assert.Equal((path, 200), (path, (await AskAsync(api, path)).Status));
        // Other sites' pages may not search.
        Assert.Equal(403, (await AskAsync(api, "search/range/ABCDEF")).Status);
        Assert.Equal(0, await api.StopAsync());
    }

    [Theory]
    [MemberData(nameof(Drivers))]
    public async Task Person_and_owner_use_the_web_app_and_are_mailed_by_the_pipelines(string driver)
    {
        const string Person = "jane.private@example.com";
        var command = Convert.ToBase64String([.. Enumerable.Repeat((byte)1, 32)]);
        (string, string)[] both = [("HIBP_LINK_KEYS", PeopleRig.Key), ("HIBP_WEB_URL", PeopleRig.PublicAddress)];
        await using var pipeline = await DrivenApp.StartAsync(
            driver, [.. both, ("HIBP_COMMAND_KEY", command), ("HIBP_SUPPRESSION_KEY", PeopleRig.Key)]);
        // The first sweep sets up the stores.
        await Eventually.IsSoAsync(async () => await pipeline.Queue("hibp-commands").ExistsAsync());
        _storage = pipeline.Storage;
        await using var api = await StartAsync(
            driver, [.. both, ("HIBP_COMMAND_PUBLIC_KEY", CommandKey.Parse(command)!.PublicKey)]);

        await PostAsync("/subscribe", $"email={Person}");
        await PostAsync(PeopleRig.LinkIn(await MailAsync("Confirm your address"), "verify"), "");
        await MailAsync("You are subscribed");
        await DropAsync("First.zip");
        var mail = await MailAsync("Your email address is in leaked data");
        await PostAsync(PeopleRig.UnsubscribeIn(mail), "List-Unsubscribe=One-Click");
        await Eventually.IsSoAsync(async () =>
            (await pipeline.HibpAsync("subscribers", "list", "--json")).Succeeded().Json.List("subscribers").Count == 0);
        await DropAsync("Second.zip");
        Assert.Equal(3, Directory.GetFiles(pipeline.MailFolder, "*.eml").Length);

        // The owner of the domain signs in, and sees the address.
        await PostAsync("/domains", "domain=example.com&proof=postmaster");
        await PostAsync(PeopleRig.LinkIn(await MailAsync("Confirm the domain example.com"), "domains/confirm"), "");
        await MailAsync("You are notified of breaches");
        await PostAsync("/domains/signin", "domain=example.com&email=postmaster%40example.com");
        var open = PeopleRig.LinkIn(await MailAsync("Your link to the addresses"), "domains/open");
        using var browser = new HttpClient(new SocketsHttpHandler { AllowAutoRedirect = false, UseCookies = false });
        using var opened = await browser.PostAsync(new Uri(api.Address, open[1..]), null);
        Assert.Equal((HttpStatusCode.SeeOther, "/domains/accounts"), (opened.StatusCode, opened.Headers.Location?.OriginalString));
        browser.DefaultRequestHeaders.Add("Cookie", opened.Headers.GetValues("Set-Cookie").Single().Split(';')[0]);
        // The web app knows the catalogue for some time.
        await Eventually.IsSoAsync(async () => (await browser.GetStringAsync(new Uri(api.Address, "domains/accounts")))
            .Contains(Person, StringComparison.Ordinal));
        foreach (var said in (string[])[pipeline.Said, api.Said()])
            Assert.DoesNotContain("jane.private", said, StringComparison.OrdinalIgnoreCase);

        async Task PostAsync(string path, string body)
        {
            using var form = new StringContent(body, System.Text.Encoding.UTF8, "application/x-www-form-urlencoded");
            using var answer = await _http.PostAsync(new Uri(api.Address, path[1..]), form);
            Assert.Equal((path, HttpStatusCode.OK), (path, answer.StatusCode));
        }

        async Task DropAsync(string blob)
        {
            await pipeline.DropAsync(blob, PipelineRig.Zip(("list.txt", Person)));
            await Eventually.IsSoAsync(async () => (await pipeline.HibpAsync("status", "--json")).Succeeded().Json.List("loads")
                .Any(load => load.Text("blob") == blob && load.Text("state") == "done"));
        }

        async Task<MimeKit.MimeMessage> MailAsync(string subject)
        {
            MimeKit.MimeMessage? found = null;
            await Eventually.IsSoAsync(() => Task.FromResult(Directory.Exists(pipeline.MailFolder)
                && (found = Directory.GetFiles(pipeline.MailFolder, "*.eml").Select(file => MimeKit.MimeMessage.Load(file))
                    .FirstOrDefault(one => one.Subject?.StartsWith(subject, StringComparison.Ordinal) == true)) is not null));
            return found!;
        }
    }

    private async Task<(int Status, string Body)> AskAsync(ApiDriver api, string path)
    {
        using var request = new HttpRequestMessage(HttpMethod.Get, new Uri(
            $"{api.Address}{path}", new UriCreationOptions { DangerousDisablePathAndQueryCanonicalization = true }));
        request.Headers.Add("User-Agent", "test");
        request.Headers.Add("hibp-api-key", AnyKey);
        using var answer = await _http.SendAsync(request);
        return ((int)answer.StatusCode, await answer.Content.ReadAsStringAsync());
    }

    /// <summary>Asserts that neither the logs nor Application Insights contain a requested account.</summary>
    /// <param name="sent">Event id of a line that must reach Application Insights.</param>
    private async Task AssertSilentAsync(ApiDriver api, int sent)
    {
        await Eventually.IsSoAsync(() => Task.FromResult(
            _telemetry.Items.Any(item => item[TelemetryNames.Logs.EventId] == $"{sent}")));
        Assert.Equal(0, await api.StopAsync());
        Assert.Empty(AddressSearch.Find(
            _telemetry.Got.Select(one => one.Body), ["hibp-integration-tests", "account-exists", "example.com", "somebody"]));
        Assert.DoesNotContain("hibp-integration-tests", api.Said(), StringComparison.Ordinal);
        Assert.DoesNotContain("example.com", api.Said(), StringComparison.Ordinal);
    }

    private async Task<ApiDriver> StartAsync(string driver, params (string Name, string Value)[] more)
    {
        if (_storage.Length == 0)
        {
            _storage = await AzuriteFixture.NewAccountAsync();
            await HibpInProcess.SetUpAsync(_folder.Path, new Dictionary<string, string> { ["HIBP_STORAGE"] = _storage });
        }
        var storage = _storage;
        using var account = StorageAccount.Open(storage, NullLoggerFactory.Instance);
        await account.Keys.CreateAsync(None);
        await account.Keys.AddAsync(
            new ApiKey { Hash = ApiKey.HashOf(AnyKey), Name = "caller", Rpm = 100_000, Scopes = KeyScopes.Search }, None);
        var settings = new Dictionary<string, string>
        {
            ["HIBP_STORAGE"] = storage,
            ["AzureWebJobsStorage"] = storage,
            ["HIBP_TESTACCOUNTS"] = "on",
            [TelemetryExport.OwnApplicationInsightsVariable] = _telemetry.ConnectionString,
        };
        foreach (var (name, value) in more)
            settings.Add(name, value);
        if (driver == "host")
        {
            var real = await HostProcess.StartAsync(BuiltApp.Folder("HibpIngest.Functions.Api"), _folder.Path, settings, "healthz");
            return new ApiDriver(real, real.Address, () => real.Said, real.FindWorkerAsync, real.TerminateAsync);
        }
        var host = await ApiHost.StartAsync(_folder.Path, settings);
        return new ApiDriver(host, host.Address, () => host.Worker.Said, () => Task.FromResult(host.Worker.ProcessId), host.StopAsync);
    }

    private sealed record ApiDriver(
        IAsyncDisposable Host, Uri Address, Func<string> Said, Func<Task<int>> FindWorkerAsync, Func<Task<int>> StopAsync)
        : IAsyncDisposable
    {
        public ValueTask DisposeAsync() => Host.DisposeAsync();
    }
}
