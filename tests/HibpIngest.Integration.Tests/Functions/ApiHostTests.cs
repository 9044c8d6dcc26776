namespace HibpIngest.Integration.Tests.Functions;

/// <summary>Tests the API's Functions app behind a stand-in for the Functions host.</summary>
public sealed class ApiHostTests : IAsyncLifetime
{
    private readonly TemporaryFolder _folder = new();
    private readonly HttpClient _http = new();
    private string _storage = "";

    public async Task InitializeAsync() => _storage = await AzuriteFixture.NewAccountAsync();

    public Task DisposeAsync()
    {
        _http.Dispose();
        _folder.Dispose();
        return Task.CompletedTask;
    }

    [Fact]
    public async Task Api_requires_only_a_storage_account()
    {
        foreach (var variable in (string[])["HIBP_STORAGE", "BreachStorage"])
        {
            await using var handler = await StartAsync(("HIBP_STORAGE", null), (variable, _storage));
            Assert.Equal((200, """{"status":"healthy"}"""), await AskAsync(handler, HttpMethod.Get, "healthz"));
            Assert.True(await handler.StopAsync() == 0, handler.Worker.Said);
            Assert.Contains("HIBP_PROXIES=0", handler.Worker.Said, StringComparison.Ordinal);
        }
        Assert.Empty(Directory.GetFileSystemEntries(_folder.Path));
    }

    [Theory]
    [InlineData("HIBP_STORAGE", null, "expected HIBP_STORAGE or BreachStorage to name the storage account; neither is set")]
    [InlineData("HIBP_STORAGE", "https://", "the storage account's address is not a valid URL")]
    [InlineData("HIBP_PROXIES", "some", "HIBP_PROXIES: expected a whole number")]
    [InlineData("HIBP_TESTACCOUNTS", "yes", "HIBP_TESTACCOUNTS: expected on or off")]
    [InlineData("OTEL_EXPORTER_OTLP_ENDPOINT", "nowhere", "OTEL_EXPORTER_OTLP_ENDPOINT: expected")]
    public async Task Invalid_settings_are_reported_in_every_response_without_an_exit(string variable, string? value, string expected)
    {
        await using var handler = await StartAsync((variable, value));
        foreach (var (method, path) in new[]
        {
            (HttpMethod.Get, ""), (HttpMethod.Get, "healthz"), (HttpMethod.Get, "api/v3/breaches"), (HttpMethod.Get, "api/health"),
            (HttpMethod.Post, "UpsertSlice"), (HttpMethod.Post, "Web"),
        })
        {
            var (status, body) = await AskAsync(handler, method, path);
            Assert.Equal((path, 503), (path, status));
            var message = JsonElement.Parse(body).GetProperty("message").GetString();
            Assert.StartsWith($"the app settings are wrong: {expected}", message, StringComparison.Ordinal);
        }
        Assert.True(await handler.StopAsync() == 0, handler.Worker.Said);
        Assert.Contains(expected, handler.Worker.Said, StringComparison.Ordinal);
    }

    /// <summary>Wrong keys are counted per network, even if other networks use the same proxy.</summary>
    [Theory]
    [InlineData(0, true)] // all have the host's address
    [InlineData(1, false)]
    [InlineData(2, true)] // the host passes on one entry only
    public async Task Caller_address_is_the_one_that_the_configured_proxies_report(int proxies, bool isShared)
    {
        const int WrongKeys = 60; // per minute and network
        using (var account = StorageAccount.Open(_storage, NullLoggerFactory.Instance))
            await account.Keys.CreateAsync(None);
        await using var handler = await StartAsync(("HIBP_PROXIES", $"{proxies}"));
        // A permit is refilled each second: on a busy machine that may happen just between two requests, so it is tried several times.
        var (other, drawn) = (HttpStatusCode.Unauthorized, 0);
        for (var tries = 0; tries < WrongKeys / 3 && other == HttpStatusCode.Unauthorized; tries++)
        {
            var status = HttpStatusCode.Unauthorized;
            for (var i = 0; i <= 10 * WrongKeys && status == HttpStatusCode.Unauthorized; i++)
                status = await TryKeyAsync($"{++drawn:x32}", "198.51.100.7");
            Assert.Equal(HttpStatusCode.TooManyRequests, status);
            other = await TryKeyAsync($"{++drawn:x32}", "203.0.113.9");
        }
        Assert.Equal(isShared ? HttpStatusCode.TooManyRequests : HttpStatusCode.Unauthorized, other);

        async Task<HttpStatusCode> TryKeyAsync(string key, string from)
        {
            using var request = new HttpRequestMessage(HttpMethod.Get, new Uri(handler.Address, "api/v3/subscription/status"));
            request.Headers.Add("User-Agent", "test");
            request.Headers.Add("hibp-api-key", key);
            request.Headers.Add("X-Forwarded-For", from);
            using var answer = await _http.SendAsync(request);
            return answer.StatusCode;
        }
    }

    [Fact]
    public async Task Passwords_can_be_appended_and_confirmed()
    {
        const string Items =
            "[{\"sha1\":\"F4A69973E7B0BF9D160F9F60E3C3ACD2494BEB0D\",\"ntlm\":\"FC525C9683E8FE067095BA2DDC971889\",\"num\":15}]";
        using var account = StorageAccount.Open(_storage, NullLoggerFactory.Instance);
        var key = RandomNumberGenerator.GetHexString(ApiKey.Digits, lowercase: true);
        await account.Keys.CreateAsync(None);
        await account.Keys.AddAsync(new ApiKey { Hash = ApiKey.HashOf(key), Name = "sender", Rpm = 60, Scopes = KeyScopes.Append }, None);
        await using var handler = await StartAsync();
        var (status, answer) = await PostAsync("ingestion/append", Items);
        Assert.Equal((200, 200), (status, (await PostAsync("ingestion/append/confirm", answer)).Status));
        var id = JsonElement.Parse(answer).GetProperty("transactionId").GetGuid();
        Assert.Equal(AppendState.Confirmed, (await account.PasswordAppends.FindAsync(ApiKey.HashOf(key), id, None))?.State);

        async Task<(int Status, string Body)> PostAsync(string path, string body)
        {
            using var request = new HttpRequestMessage(HttpMethod.Post, new Uri(handler.Address, path))
            {
                Content = new StringContent(body, Encoding.UTF8, "application/json"),
            };
            request.Headers.Add("Ocp-Apim-Subscription-Key", key);
            // As the host forwards it.
            request.Headers.TransferEncodingChunked = true;
            using var reply = await _http.SendAsync(request);
            return ((int)reply.StatusCode, await reply.Content.ReadAsStringAsync());
        }
    }

    /// <summary>The platform may stop a process right after a response.</summary>
    [Fact]
    public async Task Every_response_is_logged_before_it_is_sent()
    {
        using var account = StorageAccount.Open(_storage, NullLoggerFactory.Instance);
        // None of them needs the catalogue: without one, a 503 could not be told from that of a log that is down.
        foreach (var (path, expected) in new[] { ("openapi/v3.json", 200), ("nothing/here", 404), ("api/v3/subscription/status", 403) })
        {
            await using var handler = await StartAsync();
            var (status, body) = await AskAsync(handler, HttpMethod.Get, path);
            Assert.True(status == expected, $"{path}: {status} {body}{Environment.NewLine}{handler.Worker.Said}");
            // Killed at the end of this block.
        }
        Assert.Equal(
            ["(none)", "/api/v3/subscription/status", "/openapi/v3.json"],
            (await AccessLogContents.ReadAsync(account.AccessLog)).Select(one => one.Route).Distinct().Order(StringComparer.Ordinal));
    }

    private Task<ApiHost> StartAsync(params (string Name, string? Value)[] settings)
    {
        var variables = new Dictionary<string, string?> { ["HIBP_STORAGE"] = _storage };
        foreach (var (name, value) in settings)
            variables[name] = value;
        return ApiHost.StartAsync(
            _folder.Path, variables.Where(one => one.Value is not null).ToDictionary(one => one.Key, one => one.Value!));
    }

    private async Task<(int Status, string Body)> AskAsync(ApiHost handler, HttpMethod method, string path)
    {
        using var request = new HttpRequestMessage(method, new Uri(handler.Address, path));
        using var answer = await _http.SendAsync(request);
        return ((int)answer.StatusCode, await answer.Content.ReadAsStringAsync());
    }
}
