using System.Net;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using HibpIngest.AzureStorage;
using HibpIngest.Stores;
using Microsoft.Extensions.Logging.Abstractions;

namespace HibpIngest.Integration.Tests.Functions;

/// <summary>Which of the two apps the handler is, and what it says where it can't be either.</summary>
public sealed class WebHandlerTests : IAsyncLifetime
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
    public async Task The_web_needs_a_storage_account_and_no_more()
    {
        foreach (var variable in (string[])["HIBP_STORAGE", "BreachStorage"])
        {
            await using var handler = await StartAsync(("HIBP_APP", "web"), ("HIBP_STORAGE", null), (variable, _storage));
            Assert.Equal((200, """{"status":"healthy"}"""), await AskAsync(handler, HttpMethod.Get, "healthz"));
            await handler.TerminateAsync();
            Assert.Equal(0, await handler.EndAsync());
            Assert.Contains("HIBP_PROXIES=0", handler.Said, StringComparison.Ordinal);
        }
        Assert.Empty(Directory.GetFileSystemEntries(_folder.Path));
    }

    [Theory]
    [InlineData(null)]
    [InlineData("ingest")]
    public async Task The_pipeline_has_nothing_of_the_web(string? app)
    {
        await using var handler = await StartAsync(
            ("HIBP_APP", app), ("HIBP_DATABASE", Path.Combine(_folder.Path, "hibp.db")), ("HIBP_MAIL", $"pickup:{_folder.Path}/mail"));
        var well = (200, """{"status":"healthy"}""");
        Assert.Equal(well, await Probe.AskUntilAsync(well, () => AskAsync(handler, HttpMethod.Get, "api/health")));
        string[] paths = ["api/v3/breaches", "api/v3/breachedaccount/somebody%40example.com", "healthz", "readyz", "openapi/v3.json"];
        foreach (var path in paths)
            Assert.Equal((path, 500), (path, (await AskAsync(handler, HttpMethod.Get, path)).Status));
    }

    [Theory]
    [InlineData("HIBP_APP", "pipeline", "HIBP_APP is expected to be ingest or web, found 'pipeline'")]
    [InlineData("HIBP_APP", "Web", "HIBP_APP is expected to be ingest or web, found 'Web'")]
    [InlineData("HIBP_STORAGE", null, "HIBP_STORAGE or BreachStorage is expected to name the storage account")]
    [InlineData("HIBP_STORAGE", "https://", "the storage account's address is not one")]
    [InlineData("HIBP_PROXIES", "some", "HIBP_PROXIES is expected to be a whole number")]
    [InlineData("HIBP_TESTACCOUNTS", "yes", "HIBP_TESTACCOUNTS is expected to be on or off")]
    [InlineData("OTEL_EXPORTER_OTLP_ENDPOINT", "nowhere", "OTEL_EXPORTER_OTLP_ENDPOINT is expected")]
    public async Task Wrong_settings_are_every_answer_and_no_exit(string variable, string? value, string expected)
    {
        await using var handler = await StartAsync(("HIBP_APP", "web"), (variable, value));
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
        await handler.TerminateAsync();
        Assert.Equal(0, await handler.EndAsync());
        Assert.Contains(expected, handler.Said, StringComparison.Ordinal);
    }

    /// <summary>A network's wrong keys count, whoever else asks through the same proxy.</summary>
    [Theory]
    [InlineData(0, true)] // all are the host's
    [InlineData(1, false)]
    [InlineData(2, true)] // the host passes one entry on, never two
    public async Task The_callers_address_is_the_one_that_our_proxies_say(int proxies, bool isShared)
    {
        const int WrongKeys = 60; // a minute, of one network
        using (var account = StorageAccount.Open(_storage, NullLoggerFactory.Instance))
            await account.Keys.CreateAsync(CancellationToken.None);
        await using var handler = await StartAsync(("HIBP_APP", "web"), ("HIBP_PROXIES", $"{proxies}"));
        // One is let in again each second: on a busy machine that may be just between the two, so it is tried some times.
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
    public async Task Passwords_are_handed_in_here_too()
    {
        const string Items =
            "[{\"sha1\":\"F4A69973E7B0BF9D160F9F60E3C3ACD2494BEB0D\",\"ntlm\":\"FC525C9683E8FE067095BA2DDC971889\",\"num\":15}]";
        using var account = StorageAccount.Open(_storage, NullLoggerFactory.Instance);
        var key = RandomNumberGenerator.GetHexString(ApiKey.Digits, lowercase: true);
        await account.Keys.CreateAsync(CancellationToken.None);
        await account.Keys.AddAsync(
            new ApiKey { Hash = ApiKey.HashOf(key), Name = "sender", Rpm = 60, Scopes = KeyScopes.Append }, CancellationToken.None);
        await using var handler = await StartAsync(("HIBP_APP", "web"));
        var (status, answer) = await PostAsync("ingestion/append", Items);
        Assert.Equal((200, 200), (status, (await PostAsync("ingestion/append/confirm", answer)).Status));
        var id = JsonElement.Parse(answer).GetProperty("transactionId").GetGuid();
        Assert.Equal(
            AppendState.Confirmed, (await account.PasswordAppends.FindAsync(ApiKey.HashOf(key), id, CancellationToken.None))?.State);

        async Task<(int Status, string Body)> PostAsync(string path, string body)
        {
            using var request = new HttpRequestMessage(HttpMethod.Post, new Uri(handler.Address, path))
            {
                Content = new StringContent(body, Encoding.UTF8, "application/json"),
            };
            request.Headers.Add("Ocp-Apim-Subscription-Key", key);
            // As the host passes it on.
            request.Headers.TransferEncodingChunked = true;
            using var reply = await _http.SendAsync(request);
            return ((int)reply.StatusCode, await reply.Content.ReadAsStringAsync());
        }
    }

    /// <summary>The platform may stop a process right behind an answer.</summary>
    [Fact]
    public async Task Every_answer_is_logged_before_it_is_sent()
    {
        using var account = StorageAccount.Open(_storage, NullLoggerFactory.Instance);
        string[] paths = ["openapi/v3.json", "nothing/here", "logos/Nothing.png"];
        foreach (var path in paths)
        {
            await using var handler = await StartAsync(("HIBP_APP", "web"));
            _ = await AskAsync(handler, HttpMethod.Get, path);
            // Killed, with the end of this block.
        }
        Assert.Equal(
            ["(none)", "/logos/{file}", "/openapi/v3.json"],
            // The host's own question at the start is the other of no route.
            (await AccessLogContents.ReadAsync(account.AccessLog)).Select(one => one.Route).Distinct().Order(StringComparer.Ordinal));
    }

    private Task<HandlerProcess> StartAsync(params (string Name, string? Value)[] settings)
    {
        var variables = new Dictionary<string, string?> { ["HIBP_STORAGE"] = _storage };
        foreach (var (name, value) in settings)
            variables[name] = value;
        return HandlerProcess.StartAsync(
            null, _folder.Path, variables.Where(one => one.Value is not null).ToDictionary(one => one.Key, one => one.Value!));
    }

    private async Task<(int Status, string Body)> AskAsync(HandlerProcess handler, HttpMethod method, string path)
    {
        using var request = new HttpRequestMessage(method, new Uri(handler.Address, path));
        using var answer = await _http.SendAsync(request);
        return ((int)answer.StatusCode, await answer.Content.ReadAsStringAsync());
    }
}
